import { responses } from "../../src/dialects/responses/responses.ts";
import { runStage } from "../../src/stream/stage.ts";
import { planTools } from "../../src/tools/plan/plan.ts";
import { CallRestorer } from "../../src/tools/plan/restore.ts";
import type { TurnEvent } from "../../src/turn/event.ts";
import { clientName, upstreamName, type UpstreamName } from "../../src/turn/names.ts";
import type { Profile } from "../../src/turn/profile.ts";
import type { Tool, Turn } from "../../src/turn/turn.ts";
import { geminiChat } from "../../src/profiles/gemini-chat.ts";
import { genericChat } from "../../src/profiles/generic.ts";
import { median } from "../figures.ts";
import type { Check, Part } from "../part.ts";
import { showRatio, verdict } from "../report.ts";

const mostCold = 0.3;
const mostWarm = 0.02;
const mostGrowth = 1.5;

type Row = { readonly profile: string; readonly cold: number; readonly warm: number };

/** What it takes to plan 30 tools of 60 kB, the first time and again, and to give a long call back. */
export const planning: Part = {
  name: "planning",
  when: "always",
  async measure({ say }) {
    say("planning: 30 tools of 60 kB");
    const rows = [genericChat, geminiChat].map(planCosts);
    const growth = growthOfDeltas();
    return {
      title: `Planning ${tools().length} tools of ${kilobytes()} kB, in milliseconds`,
      table: {
        head: ["", "first", "again"],
        rows: rows.map((row) => [row.profile, row.cold.toFixed(3), row.warm.toFixed(4)]),
      },
      figures: { rows, growth },
      checks: [...rows.flatMap(checksOf), growthCheck(growth)],
    };
  },
};

const tools = (): Tool[] =>
  Array.from({ length: 30 }, (_, at): Tool => {
    const name = clientName(`tool.number_${at}`);
    const description = "Does one of the things that agents have tools for. ".repeat(6);
    if (at % 5 === 4)
      return {
        type: "custom",
        name,
        description,
        format: { type: "grammar", syntax: "lark", definition: "start: line+\n".repeat(60) },
      };
    const properties = Object.fromEntries(
      Array.from({ length: 12 }, (__, key) => [
        `property_${key}`,
        {
          type: "string",
          description: "A description of the length that they usually have. ".repeat(2),
        },
      ]),
    );
    return {
      type: "function",
      name,
      description,
      schema: { type: "object", properties, required: ["property_0"], additionalProperties: false },
    };
  });

const kilobytes = (): number => Math.round(JSON.stringify(tools()).length / 1000);

const turnOf = (declared: readonly Tool[]): Turn => ({
  dialect: "responses",
  traits: responses.traits,
  model: "bench",
  items: [],
  tools: declared,
  toolChoice: { type: "auto" },
  params: { parallelCalls: true },
  stream: true,
  usageWanted: true,
  extra: { dialect: "responses", fields: {} },
  body: {},
});

function planCosts(profile: Profile): Row {
  const fresh = Array.from({ length: 400 }, () => turnOf(tools()));
  const cold = fresh.map((turn) => timed(() => planTools(turn, profile)));
  const declared = tools();
  const warm = Array.from({ length: 4000 }, () => {
    const turn = turnOf(declared);
    return timed(() => planTools(turn, profile));
  });
  // The first hundred are still being compiled.
  return { profile: profile.name, cold: median(cold.slice(100)), warm: median(warm.slice(100)) };
}

/** How much more a delta of a custom tool's call costs among 16,000 than among 1,000. */
function growthOfDeltas(): number {
  const plan = planTools(turnOf([{ type: "custom", name: clientName("patch") }]), genericChat);
  const [long, short] = [callOf(16_000), callOf(1000)];
  const give = (events: readonly TurnEvent<UpstreamName>[]): void =>
    void runStage(new CallRestorer(plan), events);
  const tries = Array.from({ length: 30 }, () => ({
    long: timed(() => give(long)),
    short: timed(() => {
      for (let at = 0; at < 16; at++) give(short);
    }),
  }));
  return median(tries.map((one) => one.long)) / median(tries.map((one) => one.short));
}

function callOf(count: number): TurnEvent<UpstreamName>[] {
  const name = upstreamName("patch");
  const at = { choice: 0, call: 0 };
  const pieces = [
    '{"input":"',
    ...Array.from({ length: count }, () => "+ twenty characters\\n"),
    '"}',
  ];
  return [
    { type: "call-start", ...at, id: "call_1", kind: "function", name },
    ...pieces.map((text) => ({ type: "call-delta", choice: 0, call: 0, text }) as const),
    { type: "call-end", ...at, complete: true },
  ];
}

function timed(work: () => unknown): number {
  const before = performance.now();
  work();
  return performance.now() - before;
}

const checksOf = ({ profile, cold, warm }: Row): Check[] => [
  {
    what: `planning 30 tools for ${profile} the first time`,
    target: `<= ${mostCold} ms`,
    measured: `${cold.toFixed(3)} ms`,
    verdict: verdict(cold, cold <= mostCold),
  },
  {
    what: `planning the same tools for ${profile} again`,
    target: `<= ${mostWarm} ms`,
    measured: `${warm.toFixed(4)} ms`,
    verdict: verdict(warm, warm <= mostWarm),
  },
];

const growthCheck = (growth: number): Check => ({
  what: "cost of a custom tool's delta among 16,000 over that among 1,000",
  target: `<= ${mostGrowth}x`,
  measured: showRatio(growth),
  verdict: verdict(growth, growth <= mostGrowth),
});
