/** What a model of Anthropic's takes, as its own pages and the AI SDK's table have it: not read from our profiles. */
export type StrictModel = {
  readonly match: RegExp;
  readonly maxTokens: number;
  readonly sampling: "any" | "one" | "none";
  readonly forced: boolean;
  readonly thinking: readonly string[];
  readonly efforts: readonly string[];
  /** Whether system messages may stand among the others. */
  readonly lateSystem: boolean;
  readonly prefill: boolean;
  /** Whether a tool loop must begin with its thought while the model thinks. */
  readonly leads: boolean;
  /** Whether thoughts are void once anything before them differs. */
  readonly binds: boolean;
};

const all = ["low", "medium", "high", "xhigh", "max"];
const newest = {
  maxTokens: 128_000,
  sampling: "none",
  forced: true,
  thinking: ["adaptive", "disabled"],
  efforts: all,
  lateSystem: true,
  prefill: false,
  leads: false,
  binds: false,
} as const;
const bound = { ...newest, forced: false, thinking: ["adaptive"], binds: true } as const;
const older = {
  ...newest,
  maxTokens: 64_000,
  sampling: "one",
  thinking: ["enabled", "disabled"],
  efforts: [],
  lateSystem: false,
  prefill: true,
  leads: true,
} as const;

/** The first match counts. */
const models: readonly StrictModel[] = [
  { ...bound, match: /sonnet-5-5/, thinking: ["adaptive", "between_tools"] },
  { ...bound, match: /opus-5-5/ },
  { ...newest, match: /haiku-5-5/, binds: true },
  { ...newest, match: /opus-5/ },
  { ...bound, match: /fable-5-[12]/ },
  { ...newest, match: /fable-5/, thinking: ["adaptive"] },
  { ...newest, match: /opus-4-8/ },
  { ...newest, match: /opus-4-7|sonnet-5/, lateSystem: false },
  {
    ...newest,
    match: /(opus|sonnet)-4-6/,
    sampling: "any",
    thinking: ["adaptive", "enabled", "disabled"],
    efforts: ["low", "medium", "high", "max"],
    lateSystem: false,
  },
  { ...older, match: /opus-4-5/, efforts: ["low", "medium", "high"] },
  { ...older, match: /-4-5/ },
  { ...older, match: /opus-4-1/, maxTokens: 32_000, sampling: "any" },
  { ...older, match: /./, maxTokens: 4_096, sampling: "any", thinking: ["disabled"] },
];

/** One name for every row of the table. */
export const strictModelNames = [
  "claude-sonnet-5-5",
  "claude-opus-5-5",
  "claude-haiku-5-5",
  "claude-opus-5",
  "claude-fable-5-2",
  "claude-fable-5",
  "claude-opus-4-8",
  "claude-sonnet-5",
  "claude-opus-4-6",
  "claude-opus-4-5",
  "claude-haiku-4-5",
  "claude-opus-4-1",
  "claude-3-haiku",
];

export function strictModel(name: string): StrictModel {
  const found = models.find(({ match }) => match.test(name));
  if (found === undefined) throw new Error(`no model ${name}`);
  return found;
}
