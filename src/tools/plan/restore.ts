/** Restores the calls of an answer to the kinds, names and inputs that the client declared. */
import { chain, type Emit, type Stage } from "../../stream/stage.ts";
import type { Action, OnDecision } from "../../turn/decision.ts";
import type {
  CallDelta,
  CallEnd,
  CallStart,
  OnLeftOut,
  TurnEnd,
  TurnEvent,
} from "../../turn/event.ts";
import { clientName, type ClientName, type UpstreamName } from "../../turn/names.ts";
import { callPath } from "../../turn/path.ts";
import type { CallRules } from "../../turn/rules.ts";
import { errorsIn } from "../../schema/check.ts";
import { jsonOf } from "../../json/json.ts";
import type { JsonSchema } from "../../turn/turn.ts";
import { fullName, isCalledByName } from "../names/identity.ts";
import type { Decoder } from "../kinds/decoder.ts";
import { customStandIn } from "../kinds/kinds.ts";
import type { Bound, Identities } from "./declare.ts";
import type { Plan } from "./plan.ts";
import { keepFormat } from "./format.ts";
import { sealReasoning } from "./reasoning.ts";

type Event = TurnEvent<ClientName>;

/** Where it is counted what the client was not given. */
type Figures = { withheld: number; truncated: boolean };

/** Where it is counted and told what is withheld. */
type Withholding = {
  readonly figures: Figures;
  readonly leftOut?: OnLeftOut | undefined;
  /** The gateway's own rules: calls that only the client did not want do not count as truncated. */
  readonly rules?: Pick<CallRules, "parallel"> | undefined;
};

/** A call on its way back. */
type Passing = {
  /** Its number among the calls that the client is given; none if it is withheld. */
  readonly call: number | undefined;
  readonly decoder: Decoder | undefined;
};

/** The calls of one choice. */
type Calls = { readonly passing: (Passing | undefined)[]; given: number; withheld: number };

/**
 * Gives calls back as the client declared their tools: kind, namespace, name,
 * input and an id it has not seen. Calls that the client did not allow are
 * withheld and reported. Where nothing differs, events go through as they are.
 */
export function restoreCalls(
  plan: Plan,
  report: OnDecision = () => {},
  withholding: Withholding = { figures: { withheld: 0, truncated: false } },
): Stage<TurnEvent<UpstreamName>, Event> {
  const choices: (Calls | undefined)[] = [];
  const admit = admission(plan, report, withholding);
  /** Whether the client got other events than those of the last frame. */
  let changed = false;

  const start = (event: CallStart<UpstreamName>, emit: Emit<Event>): void => {
    const calls = (choices[event.choice] ??= { passing: [], given: 0, withheld: 0 });
    const { started, passing } = admit(event, calls);
    calls.passing[event.call] = passing;
    if ((started as unknown) !== event || passing.decoder !== undefined) changed = true;
    if (started !== undefined) emit(started);
  };
  const delta = (event: CallDelta, { call, decoder }: Passing, emit: Emit<Event>): void => {
    if (call === undefined) return;
    if (decoder === undefined) return emit(call === event.call ? event : { ...event, call });
    changed = true;
    const text = decoder.each(event.text);
    if (text !== "") emit({ type: "call-delta", choice: event.choice, call, text });
  };
  const end = (event: CallEnd, { call, decoder }: Passing, emit: Emit<Event>): void => {
    if (call === undefined) return;
    const { choice, complete } = event;
    const text = decoder?.end(complete) ?? "";
    reportMore(event, decoder, report);
    if (text !== "") emit({ type: "call-delta", choice, call, text });
    emit(call === event.call ? event : { ...event, call });
  };

  return {
    each(event, emit) {
      switch (event.type) {
        case "call-start":
          return start(event, emit);
        case "call-delta":
        case "call-end": {
          const passing = choices[event.choice]?.passing[event.call];
          if (passing === undefined) return emit(event);
          return event.type === "call-delta"
            ? delta(event, passing, emit)
            : end(event, passing, emit);
        }
        case "turn-end":
          return emit(withoutWithheldCalls(event, choices[event.choice]));
        case "frame": {
          const isChanged = changed && event.forwardable;
          changed = false;
          return emit(isChanged ? { ...event, forwardable: false } : event);
        }
        default:
          emit(event);
      }
    },
  };
}

function reportMore(event: CallEnd, decoder: Decoder | undefined, report: OnDecision): void {
  if (decoder?.hasMore?.() !== true) return;
  const reason = "a call of a text tool held more than its text";
  report({ path: callPath(event), action: "dropped", reason });
}

/** A turn whose calls were all withheld waits for no results. */
function withoutWithheldCalls(event: TurnEnd, calls: Calls | undefined): TurnEnd {
  const isOver = event.stop === "calls" && calls?.given === 0 && calls.withheld > 0;
  return isOver ? { ...event, stop: "end" } : event;
}

type Admitted = { readonly started: CallStart<ClientName> | undefined; readonly passing: Passing };

/** Decides whether a call is passed on, and as what. */
function admission(
  plan: Plan,
  report: OnDecision,
  { figures, leftOut, rules }: Withholding,
): (event: CallStart<UpstreamName>, calls: Calls) => Admitted {
  const { limits, identity } = plan;
  const newId = idsBeside(plan);
  const forbidden = (bound: Bound | undefined, calls: Calls): string | undefined => {
    if (limits.allowed !== undefined && (bound === undefined || !limits.allowed.has(bound)))
      return limits.allowed.size === 0 ? "no tool was to be called" : "it is not an allowed tool";
    if (limits.parallel || calls.given === 0) return undefined;
    if (rules?.parallel === false) figures.truncated = true;
    return "only one call at once was allowed";
  };
  return (event, calls) => {
    const known = recognise(event, identity);
    const bound = known ?? identity.byLikeness(fullName(event));
    const note = (action: Action, reason: string): void =>
      report({ path: callPath(event), action, reason });
    if (bound === undefined) note("repaired", `\`${event.name}\` was called and is not declared`);
    else if (known === undefined)
      note("repaired", `\`${event.name}\` was called and taken for \`${fullName(bound.client)}\``);
    const why = forbidden(bound, calls);
    if (why !== undefined) {
      calls.withheld++;
      figures.withheld++;
      leftOut?.(event, "withheld");
      note("dropped", `a call of \`${event.name}\` is withheld: ${why}`);
      return { started: undefined, passing: { call: undefined, decoder: undefined } };
    }
    const restored = restoreToolCall(event, bound, plan.asked.traits.builtinsAsFunctions);
    const call = calls.given++;
    const id = newId(event.id);
    const isSame = call === event.call && id === event.id;
    return {
      started: isSame ? restored : { ...restored, call, id },
      passing: { call, decoder: decoderOf(event, bound) },
    };
  };
}

type Called = Pick<CallStart<UpstreamName>, "kind" | "name" | "namespace">;

/** The tool that a call means. Models write names as they remember them, with a namespace or without. */
export function recognise(call: Called, identity: Identities): Bound | undefined {
  const exact = identity.byAlias(call);
  if (exact !== undefined) return exact;
  const { name, namespace } = call;
  const flat = namespace === undefined ? undefined : identity.byNickname(`${namespace}.${name}`);
  return identity.byName(name, namespace) ?? flat ?? identity.byNickname(name);
}

/**
 * A call under the client's name for its tool. One of a tool nobody declared is
 * passed on as such. `asFunction`: the client is given calls of built-in tools as
 * those of functions, so that their kind does not matter.
 */
export function restoreToolCall(
  call: CallStart<UpstreamName>,
  bound: Bound | undefined,
  asFunction = false,
): CallStart<ClientName> {
  // Where nothing differs the upstream's name is the client's.
  const same = call as unknown as CallStart<ClientName>;
  if (bound === undefined) return same;
  const { kind, namespace, name } = bound.client;
  const isKind =
    kind === call.kind || (asFunction && call.kind === "function" && !isCalledByName(kind));
  if (isKind && (name as string) === call.name && namespace === call.namespace) return same;
  return { ...call, kind, namespace, name: clientName(name) };
}

function decoderOf(call: CallStart<UpstreamName>, bound: Bound | undefined): Decoder | undefined {
  if (bound === undefined) return undefined;
  // A tool that takes text was declared as such and yet called with arguments.
  const isMistaken = bound.upstream.kind === "custom" && call.kind === "function";
  if (isMistaken) return customStandIn.decoder();
  // Free text where arguments were asked for is the input already.
  return call.kind === "custom" ? undefined : bound.form?.decoder();
}

/** Ids that the client has not seen yet in this conversation: some upstreams begin anew with each answer. */
function idsBeside({ asked }: Plan): (id: string) => string {
  let seen: Set<string> | undefined;
  /** The last number behind an id: those before it are taken. */
  const numbers = new Map<string, number>();
  return (id) => {
    seen ??= new Set(
      asked.items
        .map((item) => (item.type === "call" ? item.id : undefined))
        .filter((one) => one !== undefined),
    );
    if (!seen.has(id)) {
      seen.add(id);
      return id;
    }
    let count = numbers.get(id) ?? 2;
    while (seen.has(`${id}_${count}`)) count++;
    numbers.set(id, count);
    const given = `${id}_${count}`;
    seen.add(given);
    return given;
  };
}

/** A call of a tool whose schema the upstream was not given as it is. */
type Watched = { readonly name: string; readonly schema: JsonSchema; text: string };

/** Whether calls of this plan need looking at: some tool's schema had to be rewritten. */
const hasRewritten = ({ identity }: Plan): boolean =>
  identity.bindings.some(({ original }) => original !== undefined);

/**
 * Holds the arguments of calls against the client's own schema where the
 * upstream was given another. Nothing is withheld or changed: arguments reach the
 * client as the model wrote them, and a violation is listed in the plan.
 */
function checkArguments(
  { identity }: Plan,
  report: OnDecision,
): Stage<TurnEvent<ClientName>, TurnEvent<ClientName>> {
  const choices: (Watched | undefined)[][] = [];
  return {
    each(event, emit) {
      emit(event);
      switch (event.type) {
        case "call-start": {
          const { original } = identity.byIdentity(event) ?? {};
          if (original === undefined) return;
          const { name } = event;
          (choices[event.choice] ??= [])[event.call] = { name, schema: original, text: "" };
          return;
        }
        case "call-delta": {
          const call = choices[event.choice]?.[event.call];
          if (call !== undefined) call.text += event.text;
          return;
        }
        case "call-end": {
          const call = choices[event.choice]?.[event.call];
          const flaw = call !== undefined && event.complete ? flawOf(call) : undefined;
          if (call === undefined || flaw === undefined) return;
          const reason = `the arguments of a call of \`${call.name}\` ${flaw}`;
          return report({ path: "output", action: "noticed", reason });
        }
        default:
      }
    },
  };
}

/** What is wrong with a call's arguments, in words of its schema and never in their own. */
function flawOf({ text, schema }: Watched): string | undefined {
  const value = text.trim() === "" ? {} : jsonOf(text);
  if (value === undefined) return "are not JSON";
  const errors = errorsIn(value, schema, text.length);
  if (errors === undefined) return "could not be held against its schema";
  const error = errors.at(-1);
  return error && `break its schema at \`${error.keywordLocation.slice(0, 200)}\``;
}

/** All that a plan asks of the answer: calls restored and looked at, the format kept, reasoning marked as whose it is. */
export function restoreAnswer(
  plan: Plan,
  report?: OnDecision,
  withholding?: Withholding,
): Stage<TurnEvent<UpstreamName>, TurnEvent<ClientName>> {
  let stages = restoreCalls(plan, report, withholding);
  if (report !== undefined && hasRewritten(plan))
    stages = chain(stages, checkArguments(plan, report));
  if (plan.check !== undefined) stages = chain(stages, keepFormat(plan.check));
  if (plan.seal !== undefined) stages = chain(stages, sealReasoning(plan.seal));
  return stages;
}
