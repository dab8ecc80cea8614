/** Makes real calls to a model, and reports the capabilities of the model and its server. */
import {
  type AdapterParts,
  type Capabilities,
  type ClientName,
  type Clock,
  type Decision,
  AnswerFold,
  listModels,
  modelProfile,
  type ModelRequest,
  type Profile,
  selectChain,
  type ToolChoiceForm,
  type Upstream,
  upstreamAdapter,
  type Usage,
} from "../../src/inspection.ts";
import { type Call, Fault, type Item, refusal } from "../../src/terminal.ts";
import type { Check, Probe, ProbePlan } from "../../src/observe/console/wire-checks.ts";
import { check, wordsOfFault } from "./check.ts";
import type { Examined } from "./examine.ts";
import {
  leftInText,
  type LeftInText,
  type Question,
  type QuestionName,
  questions,
  remedyFor,
  type Shown,
} from "./questions.ts";

type Reached = { readonly upstream: Upstream; readonly model: string };

/** The first place of a model; without a name, of the only one in `models` or else of the first that is listed. */
async function placeOf(
  { config, upstreams }: Examined,
  name: string | undefined,
  clock: Clock,
): Promise<Reached> {
  const isOnlyRest = Object.keys(config.models).join() === "*";
  const known = name ?? (isOnlyRest ? "*" : undefined);
  const place = known === undefined ? undefined : selectChain(known, config, upstreams)[0];
  if (place !== undefined && place.model !== "*") return place;
  const [listed] = await listModels(config, upstreams, clock);
  if (listed !== undefined) return selectChain(listed.id, config, upstreams)[0];
  throw refusal(
    "No model name is configured; name the model to probe, such as `patchbay doctor --probe UPSTREAM/MODEL`.",
  );
}

export async function planProbe(
  examined: Examined,
  name: string | undefined,
  clock: Clock,
): Promise<ProbePlan> {
  const { upstream, model } = await placeOf(examined, name, clock);
  return { upstream: upstream.name, model, requests: questions.length };
}

/** Asks all questions, one after another: two at once might be more than a limit allows. */
export async function runProbe(
  examined: Examined,
  name: string | undefined,
  parts: AdapterParts,
): Promise<Probe> {
  const { upstream, model } = await placeOf(examined, name, parts.clock);
  const profile = modelProfile(upstream.profile, model);
  const subject = `${upstream.name}/${model}`;
  const can = new Map<QuestionName, boolean>();
  const checks: Check[] = [];
  let first: ProbeAnswer | undefined;
  let left: LeftInText | undefined;
  for (const question of questions) {
    const asked = { upstream, model, ...parts };
    const answer = await askModel({
      ...asked,
      profile: bare(question.open?.(profile) ?? profile),
      request: question.request(first),
    });
    if (first === undefined) left = leftOf(answer);
    const shown = outcomeOf(question, answer, first !== undefined);
    if (shown.can !== undefined) can.set(question.name, shown.can);
    checks.push(checkOf(question, shown, { subject, profile, left }));
    // A model that makes no call shows nothing of how calls are forced.
    if (first === undefined && shown.can !== true) break;
    first ??= answer;
  }
  const skipped = questions.slice(checks.length).map((question) => skippedCheck(question, subject));
  return {
    ...(await planProbe(examined, name, parts.clock)),
    checks: [...checks, ...skipped],
    capabilities: trueCapabilities(profile, { can, left }),
  };
}

/** A profile with which the gateway leaves calls in the text unread, so that a probe finds them. */
const bare = (profile: Profile): Profile => ({
  ...profile,
  models: undefined,
  tools: { ...profile.tools, written: false },
});

const leftOf = ({ calls, text }: ProbeAnswer): LeftInText | undefined =>
  calls.length > 0 ? undefined : leftInText(text, "get_weather");

/** `isKnownToAnswer`: it has answered a plain question, so that a refusal concerns the capability. */
function outcomeOf(question: Question, answer: ProbeAnswer, isKnownToAnswer: boolean): Shown {
  const { fault } = answer;
  if (fault === undefined) return question.judge(answer);
  const [evidence, remedy] = wordsOfFault(fault);
  if (!isKnownToAnswer) return { outcome: "wrong", evidence, remedy };
  if (fault.code === "upstream.refused") return { outcome: "wrong", evidence, can: false };
  return { outcome: "unknown", evidence, remedy };
}

type About = {
  readonly subject: string;
  readonly profile: Profile;
  readonly left: LeftInText | undefined;
};

function checkOf(question: Question, shown: Shown, { subject, profile, left }: About): Check {
  const { name, title } = question;
  const { outcome, can } = shown;
  const claimed = trueCapabilities(profile, {
    can: new Map(can === undefined ? [] : [[name, can]]),
  });
  // The gateway never asks an upstream for what its profile denies, so nothing is wrong there.
  const isKnown = can === false && Object.keys(claimed).length === 0 && name !== "one_call";
  const remedy =
    name === "one_call" && left !== undefined
      ? remedyFor(left, profile.name)
      : (shown.remedy ?? remedies[isKnown ? "note" : outcome]);
  const told = isKnown && outcome === "wrong" ? "note" : outcome;
  return check(`probe.${name}`, subject, told, `${title}: ${shown.evidence}`, remedy);
}

const remedies: Readonly<Record<Check["outcome"], string | undefined>> = {
  ok: undefined,
  note: undefined,
  unknown: "Try again, or try another model.",
  wrong: "Write it to the configuration: patchbay doctor --probe --fix",
};

const skippedCheck = ({ name, title }: Question, subject: string): Check => {
  const evidence = `${title}: not tested, because no plain call came`;
  return check(`probe.${name}`, subject, "unknown", evidence, "Correct plain calls first.");
};

export type ProbeAnswer = {
  readonly calls: readonly Call[];
  readonly text: string;
  /** All of it, to be sent back. */
  readonly items: readonly Item[];
  readonly usage?: Usage | undefined;
  readonly fault?: Fault | undefined;
  /** Its tools could not be written as they are for this upstream. */
  readonly isAskedOtherwise: boolean;
  /** Something of the answer was not let through. */
  readonly isWithheld: boolean;
};

export type Asked = AdapterParts & {
  readonly upstream: Upstream;
  readonly model: string;
  readonly profile: Profile;
  readonly request: ModelRequest;
};

/** Long enough for a model that thinks. */
const PATIENCE_MS = 180_000;

async function askModel(asked: Asked): Promise<ProbeAnswer> {
  const { upstream, model, profile, request, clock, newId } = asked;
  let isSent = false;
  const asking = once(upstream, profile, () => (isSent = true));
  const adapter = upstreamAdapter(asking, model, { clock, newId });
  const folded = new AnswerFold<ClientName>();
  let isAskedOtherwise = false;
  let isWithheld = false;
  const report = ({ action, path }: Decision): void => {
    if (isSent) isWithheld ||= action === "dropped" || action === "changed";
    else if (path.startsWith("tools"))
      isAskedOtherwise ||= ["dropped", "changed", "reshaped"].includes(action);
  };
  const signal = AbortSignal.timeout(PATIENCE_MS);
  try {
    for await (const event of adapter.call(request, { signal, report })) folded.each(event);
  } catch (error) {
    const fault = error instanceof Fault ? error : late(upstream, error);
    return { calls: [], text: "", items: [], fault, isAskedOtherwise, isWithheld };
  }
  const { choices, usage, fault } = folded.answer();
  const items = choices[0]?.items ?? [];
  return {
    calls: items.filter((item) => item.type === "call"),
    text: items.map(textOfItem).join(""),
    items,
    usage,
    fault,
    isAskedOtherwise,
    isWithheld,
  };
}

/** The text of a message; empty for another item. */
const textOfItem = (item: Item): string =>
  item.type !== "message"
    ? ""
    : item.parts.map((part) => (part.type === "text" ? part.text : "")).join("");

/** The upstream with another profile and without retries, so that each question is one request. */
const once = (upstream: Upstream, profile: Profile, onSend: () => void): Upstream => ({
  ...upstream,
  profile,
  prepare(turn, to) {
    const prepared = upstream.prepare(turn, to);
    return {
      ...prepared,
      open(options) {
        onSend();
        return prepared.open({ ...options, retry: false });
      },
    };
  },
});

function late({ name }: Upstream, error: unknown): Fault {
  if (!(error instanceof Error) || error.name !== "TimeoutError") throw error;
  return new Fault(
    "upstream.idle_timeout",
    `Upstream \`${name}\` did not end its answer in ${PATIENCE_MS / 1000} s. Try again, or choose a faster model.`,
  );
}

type Facts = {
  readonly can: ReadonlyMap<QuestionName, boolean>;
  readonly left?: LeftInText | undefined;
};

/** The forms of a choice in the order of a profile, and the questions about them. */
const choiceForms = [
  ["auto", undefined],
  ["none", "none"],
  ["required", "required"],
  ["function", "named"],
  ["allowed", undefined],
] as const satisfies readonly (readonly [ToolChoiceForm, QuestionName | undefined])[];

/** The `capabilities` that make a profile true. They leave out what is true already or unknown. */
function trueCapabilities(profile: Profile, { can, left }: Facts): Capabilities {
  const { tools: had, formats, streamUsage } = profile;
  const differing = (question: QuestionName, claimed: boolean): boolean | undefined => {
    const shown = can.get(question);
    return shown === claimed ? undefined : shown;
  };
  const parallel = differing("two_calls", had.parallel);
  const choice = choiceForms.flatMap(([form, question]) => {
    const shown = question === undefined ? undefined : can.get(question);
    return (shown ?? had.choice.includes(form)) ? [form] : [];
  });
  const isChoiceTrue =
    choice.length === had.choice.length && choice.every((form) => had.choice.includes(form));
  const custom = differing("custom_tool", (had.kinds["custom"] ?? had.kinds["*"]) === "native");
  const schema = differing("schema", formats.includes("schema") || formats.includes("strict"));
  const tools: NonNullable<Capabilities["tools"]> = {
    ...(parallel !== undefined && { parallel }),
    ...(!isChoiceTrue && { choice }),
    ...(custom !== undefined && { kinds: { custom: custom ? "native" : "degrade" } }),
    ...(left?.isUseTool === true && had.written !== true && { written: true }),
  };
  const usage = differing("usage", streamUsage);
  const others = formats.filter((form) => form !== "schema" && form !== "strict");
  return {
    ...(Object.keys(tools).length > 0 && { tools }),
    ...(schema !== undefined && { formats: schema ? [...formats, "schema"] : others }),
    ...(usage !== undefined && { streamUsage: usage }),
  };
}
