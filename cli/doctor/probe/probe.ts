/** Makes real calls to a model and says what it and its server can do. */

import type { AdapterParts } from "../../../src/agent/adapters/upstream.ts";
import { listModels } from "../../../src/gateway/http/models.ts";
import { selectChain } from "../../../src/gateway/run/select.ts";
import { modelProfile } from "../../../src/profiles/models.ts";
import type { Clock } from "../../../src/turn/clock.ts";
import { Fault } from "../../../src/turn/fault.ts";
import type { Profile } from "../../../src/turn/profile.ts";
import type { Upstream } from "../../../src/upstreams/upstream.ts";
import type { Check, Probe, ProbePlan } from "../../../src/observe/console/wire-checks.ts";
import { wordsOfFault } from "../check.ts";
import type { Examined } from "../examine.ts";
import { askModel, type ProbeAnswer } from "./ask-model.ts";
import { trueCapabilities } from "./capabilities.ts";
import { leftInText, remedyFor, type LeftInText } from "./left-in-text.ts";
import { questions, type Question, type QuestionName, type Shown } from "./questions.ts";

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
  throw new Fault(
    "request.invalid",
    "No model has a name of its own here; say which to probe, such as `patchbay doctor --probe UPSTREAM/MODEL`.",
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
      profile: bare(question.open(profile)),
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

/** Blocks are read by the gateway only where it is told to; here they must be seen. */
const bare = (profile: Profile): Profile => ({
  ...profile,
  models: undefined,
  tools: { ...profile.tools, written: false },
});

const leftOf = ({ calls, text }: ProbeAnswer): LeftInText | undefined =>
  calls.length > 0 ? undefined : leftInText(text, "get_weather");

/** `isKnownToAnswer`: it has answered a plain question, so a refusal is about what this one asks for. */
function outcomeOf(question: Question, answer: ProbeAnswer, isKnownToAnswer: boolean): Shown {
  const { fault } = answer;
  if (fault === undefined) return question.judge(answer);
  const { evidence, remedy } = wordsOfFault(fault);
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
  const { outcome, can } = shown;
  const claimed = trueCapabilities(profile, {
    can: new Map(can === undefined ? [] : [[question.name, can]]),
  });
  // What a profile says it cannot do is never asked of it, so nothing is wrong there.
  const isKnown =
    can === false && Object.keys(claimed).length === 0 && question.name !== "one_call";
  const remedy =
    question.name === "one_call" && left !== undefined
      ? remedyFor(left, profile.name)
      : (shown.remedy ?? remedies[isKnown ? "note" : outcome]);
  return {
    group: "models",
    id: `probe.${question.name}`,
    subject,
    outcome: isKnown && outcome === "wrong" ? "note" : outcome,
    evidence: `${question.title}: ${shown.evidence}`,
    remedy,
  };
}

const remedies: Readonly<Record<Check["outcome"], string | undefined>> = {
  ok: undefined,
  note: undefined,
  unknown: "Try again, or another model.",
  wrong: "Have the gateway know it: patchbay doctor --probe --fix",
};

const skippedCheck = ({ name, title }: Question, subject: string): Check => ({
  group: "models",
  id: `probe.${name}`,
  subject,
  outcome: "unknown",
  evidence: `${title}: not asked, since no plain call came`,
  remedy: "See to plain calls first.",
});
