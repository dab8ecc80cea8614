import { listParams, takesParams } from "../dialects/shared/params.ts";
import type { Plan } from "../tools/plan/plan.ts";
import { Fault } from "../turn/fault.ts";
import { isInstructions } from "../turn/item.ts";
import { isFields, ownOf } from "../turn/json.ts";
import { formatPath } from "../turn/path.ts";
import type { Fields } from "../turn/turn.ts";
import type { Round } from "./round.ts";

type Sent = Pick<Round, "plan" | "profile">;

/** A failure as a client is told it: whose it is, and about which of its own fields. */
export function faultForClient(fault: Fault, { link, ...sent }: Round): Fault {
  const { code, detail, cause, isFromUpstream } = fault;
  // The dialects and stages know that it is the upstream's, but not its name.
  const message = fault.message.replace(/^The upstream\b/, `Upstream \`${link.upstream.name}\``);
  const param =
    isFromUpstream && detail.param !== undefined ? clientPathOf(detail.param, sent) : detail.param;
  if (message === fault.message && param === detail.param) return fault;
  return new Fault(code, message, { ...detail, param }, cause);
}

/**
 * Where the client finds what an upstream calls by a word of its own dialect: as
 * deep as can be told. Nothing, if it is nothing that the client sent.
 */
export function clientPathOf(said: string, { plan, profile }: Sent): string | undefined {
  const { asked, identical } = plan;
  if (identical && profile.dialect === asked.dialect && takesParams(asked, profile)) return said;
  const steps = ownSteps(stepsOf(said), { plan, profile });
  return written(within(asked.body, steps)) || undefined;
}

type Steps = readonly string[];

function ownSteps(steps: Steps, { plan, profile }: Sent): Steps {
  const { asked } = plan;
  const [head = "", ...rest] = steps;
  if (["messages", "input", "instructions", "system"].includes(head))
    return itemSteps(head, rest, plan);
  if (head === "tools") return toolSteps(rest, plan);
  const format = after(formatPath(profile.dialect), steps);
  if (format !== undefined) return formatSteps(format, plan);
  for (const { path, target = "" } of listParams(asked, profile)) {
    const more = after(target, steps);
    if (more !== undefined) return [...stepsOf(path), ...more];
  }
  return steps;
}

/** An item by its number only where both sides count alike. */
function itemSteps(head: string, rest: Steps, { asked, turn }: Plan): Steps {
  const [first] = turn.items;
  if (asked.dialect === "chat")
    return head === "messages" && isSame(asked, turn) ? [head, ...rest] : ["messages"];
  const isFirst =
    head === "instructions" || head === "system" || (head === "messages" && rest[0] === "0");
  if (isFirst && first !== undefined && isInstructions(first)) return ["instructions"];
  return head === "input" && isSame(asked, turn) ? [head, ...rest] : ["input"];
}

const isSame = (asked: Plan["asked"], turn: Plan["turn"]): boolean =>
  (asked.items as unknown) === turn.items;

function toolSteps([at = "", ...rest]: Steps, { asked, turn, verdicts }: Plan): Steps {
  const name = turn.tools[Number(at)]?.name;
  const path = verdicts.find(({ upstreamName }) => upstreamName === name)?.path;
  if (name === undefined || path === undefined) return ["tools"];
  const steps = stepsOf(path);
  const [kind = "", ...inner] = rest;
  const field = kind === "function" || kind === "custom" ? inner : rest;
  const own = asked.dialect === "chat" ? asked.tools[Number(steps[1])]?.type : undefined;
  return own === undefined ? [...steps, ...field] : [...steps, own, ...field];
}

/** Chat keeps a schema and what is said of it in a group of its own. */
function formatSteps(rest: Steps, { asked }: Plan): Steps {
  const field = rest[0] === "json_schema" ? rest.slice(1) : rest;
  const isSchema = asked.dialect === "chat" && field.length > 0 && field[0] !== "type";
  return [...stepsOf(formatPath(asked.dialect)), ...(isSchema ? ["json_schema"] : []), ...field];
}

/** What follows a path in steps that begin with it. */
function after(path: string, steps: Steps): Steps | undefined {
  const start = stepsOf(path);
  const isStart = start.length > 0 && start.every((step, at) => step === steps[at]);
  return isStart ? steps.slice(start.length) : undefined;
}

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
