import type { Emit, Stage } from "../stream/stage.ts";
import type { Action, Decision } from "../turn/decision.ts";
import type { CallEnd, CallStart, TurnEnd, TurnEvent } from "../turn/event.ts";
import { clientName, type ClientName, type UpstreamName } from "../turn/names.ts";
import type { Bound, Identities } from "./declare.ts";
import type { Decoder } from "./kinds/kind.ts";
import { customKind } from "./kinds/custom.ts";
import type { Plan } from "./plan.ts";

type Event = TurnEvent<ClientName>;

/** Hears what had to be done to an answer. */
export type Report = (decision: Decision) => void;

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
  report: Report = () => {},
): Stage<TurnEvent<UpstreamName>, Event> {
  const { limits, identity } = plan;
  const choices: (Calls | undefined)[] = [];
  const newId = idsBeside(plan);
  /** Whether what the client is given differs from what the last frame said. */
  let bent = false;

  const say = (action: Action, reason: string): void => report({ path: "output", action, reason });
  const forbidden = (bound: Bound | undefined, calls: Calls): string | undefined => {
    if (limits.allowed !== undefined && (bound === undefined || !limits.allowed.has(bound)))
      return limits.allowed.size === 0 ? "no tool was to be called" : "it is not an allowed tool";
    if (!limits.parallel && calls.given > 0) return "only one call at once was allowed";
    return undefined;
  };

  const start = (event: CallStart<UpstreamName>, emit: Emit<Event>): void => {
    const calls = (choices[event.choice] ??= { passing: [], given: 0, withheld: 0 });
    const found = recognise(event, identity);
    if (found.bound === undefined)
      say("repaired", `\`${event.name}\` was called and is not declared`);
    const why = forbidden(found.bound, calls);
    if (why !== undefined) {
      bent = true;
      calls.withheld++;
      calls.passing[event.call] = { call: undefined, decoder: undefined };
      return say("dropped", `a call of \`${event.name}\` is withheld: ${why}`);
    }
    const restored = restoreToolCall(event, found.bound);
    const call = calls.given++;
    const id = newId(event.id);
    const decoder = decoderOf(event, found.bound);
    if (
      (restored as unknown) !== event ||
      call !== event.call ||
      id !== event.id ||
      decoder !== undefined
    )
      bent = true;
    calls.passing[event.call] = { call, decoder };
    emit(call === event.call && id === event.id ? restored : { ...restored, call, id });
  };
  const end = (event: CallEnd, passing: Passing, emit: Emit<Event>): void => {
    const { call, decoder } = passing;
    if (call === undefined) return;
    const { choice, complete } = event;
    const text = decoder?.end(complete) ?? "";
    if (text !== "") emit({ type: "call-delta", choice, call, text });
    emit(call === event.call ? event : { ...event, call });
  };
  /** A turn whose calls were all withheld waits for no results. */
  const settle = (event: TurnEnd): TurnEnd => {
    const calls = choices[event.choice];
    const isOver = event.stop === "calls" && calls?.given === 0 && calls.withheld > 0;
    return isOver ? { ...event, stop: "end" } : event;
  };

  return {
    each(event, emit) {
      switch (event.type) {
        case "call-start":
          return start(event, emit);
        case "call-delta": {
          const passing = choices[event.choice]?.passing[event.call];
          if (passing === undefined) return emit(event);
          const { call, decoder } = passing;
          if (call === undefined) return;
          if (decoder === undefined) return emit(call === event.call ? event : { ...event, call });
          bent = true;
          const text = decoder.each(event.text);
          if (text !== "") emit({ type: "call-delta", choice: event.choice, call, text });
          return;
        }
        case "call-end": {
          const passing = choices[event.choice]?.passing[event.call];
          return passing === undefined ? emit(event) : end(event, passing, emit);
        }
        case "turn-end":
          return emit(settle(event));
        case "frame": {
          const isBent = bent;
          bent = false;
          return emit(isBent && event.regular ? { ...event, regular: false } : event);
        }
        default:
          emit(event);
      }
    },
  };
}

type Recognised = { readonly bound: Bound | undefined };

/** The tool that a call means. Models write names as they remember them, with a namespace or without. */
function recognise(call: CallStart<UpstreamName>, identity: Identities): Recognised {
  const { name, namespace } = call;
  const exact = identity.byAlias(call);
  if (exact !== undefined) return { bound: exact };
  const flat = namespace === undefined ? undefined : identity.byNickname(`${namespace}.${name}`);
  return { bound: flat ?? identity.byNickname(name) ?? identity.byName(name, namespace) };
}

/** A call under the client's name for its tool. One of a tool nobody declared is passed on as such. */
export function restoreToolCall(
  call: CallStart<UpstreamName>,
  bound: Bound | undefined,
): CallStart<ClientName> {
  // Where nothing differs the upstream's name is the client's.
  const same = call as unknown as CallStart<ClientName>;
  if (bound === undefined) return same;
  const { kind, namespace, name } = bound.client;
  if (kind === call.kind && (name as string) === call.name && namespace === call.namespace)
    return same;
  return { ...call, kind, namespace, name: clientName(name) };
}

function decoderOf(call: CallStart<UpstreamName>, bound: Bound | undefined): Decoder | undefined {
  if (bound === undefined) return undefined;
  // A tool that takes text was declared as such and yet called with arguments.
  const isMistaken = bound.upstream.kind === "custom" && call.kind === "function";
  if (isMistaken) return customKind.standIn?.decoder();
  // Free text where arguments were asked for is the input already.
  return call.kind === "custom" ? undefined : bound.form?.decoder();
}

/** Ids that the client has not seen yet in this conversation: some upstreams begin anew with each answer. */
function idsBeside({ asked }: Plan): (id: string) => string {
  let seen: Set<string> | undefined;
  return (id) => {
    seen ??= new Set(
      asked.items
        .map((item) => (item.type === "call" ? item.id : undefined))
        .filter((one) => one !== undefined),
    );
    let given = id;
    for (let count = 2; seen.has(given); count++) given = `${id}_${count}`;
    seen.add(given);
    return given;
  };
}
