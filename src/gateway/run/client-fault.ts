import { listParams, takesParams } from "../../dialects/shared/params.ts";
import type { Plan } from "../../tools/plan/plan.ts";
import { Fault } from "../../turn/fault.ts";
import { isInstructions } from "../../turn/item.ts";
import { isFields, ownOf } from "../../json/json.ts";
import type { DialectTraits } from "../../turn/dialect-traits.ts";
import type { Fields } from "../../turn/turn.ts";
import type { Round } from "./round.ts";

type Sent = Pick<Round, "plan" | "profile"> & {
  /** Of the upstream's dialect; none: it speaks another language than doors do. */
  readonly traits?: DialectTraits | undefined;
};

/** A failure in the client's words: the name of the upstream, and the path of the client's field. */
export function faultForClient(fault: Fault, { link, plan, profile }: Round): Fault {
  const sent: Sent = { plan, profile, traits: link.upstream.traits };
  const { code, detail, cause, isFromUpstream } = fault;
  // The dialects and stages know that it is the upstream's, but not its name.
  const message = fault.message.replace(/^The upstream\b/, `Upstream \`${link.upstream.name}\``);
  const param =
    isFromUpstream && detail.param !== undefined ? clientPathOf(detail.param, sent) : detail.param;
  if (message === fault.message && param === detail.param) return fault;
  return new Fault(code, message, { ...detail, param }, cause);
}

/**
 * The client's path of a field that an upstream names in its own dialect, as deep as it is known;
 * undefined if the client did not send the field.
 */
export function clientPathOf(blamed: string, sent: Sent): string | undefined {
  const { plan, profile } = sent;
  const { asked, identical } = plan;
  if (identical && profile.dialect === asked.dialect && takesParams(asked, profile)) return blamed;
  const steps = ownSteps(stepsOf(blamed), sent);
  return written(within(asked.body, steps)) || undefined;
}

type Steps = readonly string[];

function ownSteps(steps: Steps, { plan, profile, traits }: Sent): Steps {
  const { asked } = plan;
  const [head = "", ...rest] = steps;
  // An upstream that speaks no dialect is sent the client's words.
  const words = traits ?? asked.traits;
  const { conversation, instructions, blamedAs = [] } = words;
  const named = [conversation, instructions, ...blamedAs].find((one) => isAlike(one, head));
  if (named !== undefined) return itemSteps(named, rest, plan, words);
  if (head === "tools") return toolSteps(rest, plan, words.functionList);
  const format = after(words.format.path, steps);
  if (format !== undefined) return formatSteps(format, plan, words);
  for (const { path, target = "" } of listParams(asked, profile, traits)) {
    const more = after(target, steps);
    if (more !== undefined) return [...stepsOf(path), ...more];
  }
  return steps;
}

/** Keeps the number of an item only if both sides number the items alike. */
function itemSteps(
  head: string,
  rest: Steps,
  { asked, turn }: Plan,
  upstream: DialectTraits,
): Steps {
  const { conversation, instructions } = asked.traits;
  const [first] = turn.items;
  // If an upstream has no field for instructions, its conversation begins with them.
  const isFirst =
    upstream.instructions === undefined && head === upstream.conversation
      ? rest[0] === "0"
      : head !== upstream.conversation;
  if (instructions !== undefined && isFirst && first !== undefined && isInstructions(first))
    return [instructions];
  return head === conversation && isSame(asked, turn) ? [head, ...rest] : [conversation];
}

const isSame = (asked: Plan["asked"], turn: Plan["turn"]): boolean =>
  (asked.items as unknown) === turn.items;

function toolSteps([at = "", ...all]: Steps, plan: Plan, functionList?: string): Steps {
  const { asked, turn, verdicts } = plan;
  const [list, nth, ...inEntry] = all;
  const isNested = isAlike(functionList, list);
  const functions = isNested ? turn.tools.filter(({ type }) => type === "function") : turn.tools;
  const rest = isNested ? inEntry : all;
  const name = functions[Number(isNested ? nth : at)]?.name;
  const path = verdicts.find(({ upstreamName }) => upstreamName === name)?.path;
  if (name === undefined || path === undefined) return ["tools"];
  const steps = stepsOf(path);
  const [kind = "", ...inner] = rest;
  const field = kind === "function" || kind === "custom" ? inner : rest;
  const own = asked.traits.nestsTools ? asked.tools[Number(steps[1])]?.type : undefined;
  return own === undefined ? [...steps, ...field] : [...steps, own, ...field];
}

/** Some dialects keep a schema and its name in a separate group. */
function formatSteps(rest: Steps, { asked }: Plan, upstream: DialectTraits): Steps {
  const { path, schemaGroup } = asked.traits.format;
  const field =
    rest[0] !== undefined && rest[0] === upstream.format.schemaGroup ? rest.slice(1) : rest;
  const isSchema = schemaGroup !== undefined && field.length > 0 && field[0] !== "type";
  return [...stepsOf(path), ...(isSchema ? [schemaGroup] : []), ...field];
}

/** The steps after a path, if they begin with it. */
function after(path: string, steps: Steps): Steps | undefined {
  const start = stepsOf(path);
  const isStart = start.length > 0 && start.every((step, at) => isAlike(step, steps[at]));
  return isStart ? steps.slice(start.length) : undefined;
}

/** True if two names of fields are one in snake and in camel case: some APIs blame the other form. */
const isAlike = (one: string | undefined, other: string | undefined): boolean =>
  one !== undefined && plain(one) === plain(other ?? "");
const plain = (name: string): string => name.replaceAll("_", "").toLowerCase();

/** As far as a request goes along. */
function within(body: Fields, steps: Steps): Steps {
  let at: unknown = body;
  const end = steps.findIndex((step) => {
    at = Array.isArray(at) ? at[Number(step)] : isFields(at) ? ownOf(at, step) : undefined;
    return at === undefined;
  });
  return end === -1 ? steps : steps.slice(0, end);
}

/** Upstreams write `a[0].b`, `a.0.b`, `a.[0].b` and `/a/0/b`. */
const stepsOf = (path: string): string[] => path.split(/[.[\]/]+/).filter((step) => step !== "");

const written = (steps: Steps): string =>
  steps
    .map((step, at) => (/^\d+$/.test(step) ? `[${step}]` : at === 0 ? step : `.${step}`))
    .join("");

export const notRead = (): Fault =>
  new Fault(
    "client.slow",
    "The client read nothing of the answer for as long as `server.stall_timeout_ms` allows.",
  );
