/** Restores the calls of an answer to the kinds, names and inputs that the client declared. */

import { jsonOf } from "../../json/json.ts";
import { errorsIn } from "../../schema/check.ts";
import type { Emit, EventStage, Stage } from "../../stream/stage.ts";
import type { OnDecision } from "../../turn/decision.ts";
import type { CallEnd, CallStart, OnLeftOut, TurnEnd, TurnEvent } from "../../turn/event.ts";
import { clientName, type AnyName, type ClientName, type UpstreamName } from "../../turn/names.ts";
import { callPath } from "../../turn/path.ts";
import type { CallRules } from "../../turn/rules.ts";
import type { JsonSchema } from "../../turn/turn.ts";
import type { Decoder } from "../kinds/decoder.ts";
import { customStandIn } from "../kinds/kinds.ts";
import { fullName, isCalledByName, type Bound, type ToolIdentityMap } from "../names/identity.ts";
import { keepFormat } from "./format.ts";
import type { Plan } from "./plan.ts";
import { ReasoningSealer } from "./reasoning.ts";

type Event = TurnEvent<ClientName>;

type WithheldCounts = { withheld: number; truncated: boolean };

export type Withholding = {
  readonly figures: WithheldCounts;
  readonly leftOut?: OnLeftOut | undefined;
  /** The gateway's own rules: only calls that these forbid count as truncated. */
  readonly rules?: Pick<CallRules, "parallel"> | undefined;
};

/** The stages that apply a plan to the answer: they restore and check calls, keep the format, and seal reasoning. */
export function restoreAnswer(
  plan: Plan,
  report?: OnDecision,
  withholding?: Withholding,
): readonly EventStage<AnyName>[] {
  const stages: EventStage<AnyName>[] = [new CallRestorer(plan, report, withholding)];
  if (plan.check !== undefined) stages.push(keepFormat(plan.check));
  if (plan.seal !== undefined) stages.push(new ReasoningSealer(plan.seal));
  return stages;
}

type OpenCall = {
  /** Its number among the client's calls; undefined if it is withheld. */
  readonly call: number | undefined;
  readonly decoder?: Decoder | undefined;
  /** The client's own schema, if the upstream got another: the arguments are checked against it. */
  readonly schema?: JsonSchema | undefined;
  /** The client's name of the tool, and the arguments so far that are to be checked. */
  readonly name: string;
  text: string;
};

type Calls = { readonly open: (OpenCall | undefined)[]; passed: number; withheld: number };

/**
 * Gives calls back as the client declared their tools: kind, namespace, name,
 * input and a new id. Calls that the client did not allow are withheld and
 * reported. Events that need no change pass through as the same objects.
 */
export class CallRestorer implements Stage<TurnEvent<UpstreamName>, Event> {
  readonly #plan: Plan;
  readonly #report: OnDecision;
  readonly #withholding: Withholding;
  readonly #choices: (Calls | undefined)[] = [];
  /** The ids of the conversation and of the answer so far. */
  #ids: Set<string> | undefined;
  /** The last number added to an id: lower ones are taken. */
  #numbers: Map<string, number> | undefined;
  /** True if the client got other events than those of the last frame. */
  #changed = false;

  constructor(
    plan: Plan,
    report: OnDecision = () => {},
    withholding: Withholding = { figures: { withheld: 0, truncated: false } },
  ) {
    this.#plan = plan;
    this.#report = report;
    this.#withholding = withholding;
  }

  each(event: TurnEvent<UpstreamName>, emit: Emit<Event>): void {
    switch (event.type) {
      case "call-start":
        return this.#start(event, emit);
      case "call-delta": {
        const open = this.#choices[event.choice]?.open[event.call];
        if (open === undefined) return emit(event);
        const { call, decoder, schema } = open;
        if (call === undefined) return;
        const text = decoder === undefined ? event.text : decoder.each(event.text);
        if (schema !== undefined) open.text += text;
        if (decoder === undefined) return emit(call === event.call ? event : { ...event, call });
        this.#changed = true;
        if (text !== "") emit({ type: "call-delta", choice: event.choice, call, text });
        return;
      }
      case "call-end": {
        const open = this.#choices[event.choice]?.open[event.call];
        if (open === undefined) return emit(event);
        return this.#end(event, open, emit);
      }
      case "turn-end": {
        // A turn whose calls were all withheld waits for no results.
        const calls = this.#choices[event.choice];
        const isOver = event.stop === "calls" && calls?.passed === 0 && calls.withheld > 0;
        return emit(isOver ? ({ ...event, stop: "end" } satisfies TurnEnd) : event);
      }
      case "frame": {
        const isChanged = this.#changed && event.forwardable;
        this.#changed = false;
        return emit(isChanged ? { ...event, forwardable: false } : event);
      }
      default:
        emit(event);
    }
  }

  #start(event: CallStart<UpstreamName>, emit: Emit<Event>): void {
    const { choice, name, kind, namespace } = event;
    const { identity, asked, limits } = this.#plan;
    const calls = (this.#choices[choice] ??= { open: [], passed: 0, withheld: 0 });
    const isPlain = kind === "function" && namespace === undefined;
    const unchanged = isPlain ? identity.unchanged.get(name) : undefined;
    const bound = unchanged ?? this.#find(event);
    if (limits.allowed !== undefined || (!limits.parallel && calls.passed > 0)) {
      const why = this.#forbids(bound, calls);
      if (why !== undefined) return this.#withhold(event, calls, why);
    }
    const decoder = unchanged === undefined ? decoderOf(event, bound) : undefined;
    const restored =
      unchanged === undefined
        ? restoreToolCall(event, bound, asked.traits.builtinsAsFunctions)
        : (event as unknown as CallStart<ClientName>);
    const call = calls.passed++;
    const id = this.#newId(event.id);
    calls.open[event.call] = {
      call,
      decoder,
      schema: bound?.original,
      name: restored.name,
      text: "",
    };
    const isSame = call === event.call && id === event.id;
    if (!isSame || (restored as unknown) !== event || decoder !== undefined) this.#changed = true;
    emit(isSame ? restored : { ...restored, call, id });
  }

  /** The tool that a call means. A call under another name than that of its tool is reported. */
  #find(event: CallStart<UpstreamName>): Bound | undefined {
    const { identity } = this.#plan;
    const known = recognise(event, identity);
    if (known !== undefined) return known;
    const bound = identity.byLikeness(fullName(event));
    const what =
      bound === undefined
        ? "but is not declared"
        : `and is sent as a call of \`${fullName(bound.client)}\``;
    const reason = `\`${event.name}\` was called ${what}`;
    this.#report({ path: callPath(event), action: "repaired", reason });
    return bound;
  }

  #withhold(event: CallStart<UpstreamName>, calls: Calls, why: string): void {
    calls.withheld++;
    this.#withholding.figures.withheld++;
    this.#withholding.leftOut?.(event, "withheld");
    const reason = `a call of \`${event.name}\` is withheld: ${why}`;
    this.#report({ path: callPath(event), action: "dropped", reason });
    calls.open[event.call] = { call: undefined, name: event.name, text: "" };
    this.#changed = true;
  }

  /** An id that is new to the client in this conversation: some upstreams count from 0 in each answer. */
  #newId(id: string): string {
    let ids = this.#ids;
    if (ids === undefined) {
      this.#ids = ids = new Set();
      for (const item of this.#plan.asked.items) if (item.type === "call") ids.add(item.id);
    }
    let unique = id;
    if (ids.has(id)) {
      const numbers = (this.#numbers ??= new Map());
      let count = numbers.get(id) ?? 2;
      while (ids.has(`${id}_${count}`)) count++;
      numbers.set(id, count);
      unique = `${id}_${count}`;
    }
    ids.add(unique);
    return unique;
  }

  #end(event: CallEnd, open: OpenCall, emit: Emit<Event>): void {
    const { call, decoder, schema } = open;
    if (call === undefined) return;
    const { choice, complete } = event;
    const text = decoder?.end(complete) ?? "";
    if (decoder?.hasMore?.() === true) {
      const reason = "a call of a text tool had other arguments besides its text";
      this.#report({ path: callPath(event), action: "dropped", reason });
    }
    if (text !== "") emit({ type: "call-delta", choice, call, text });
    emit(call === event.call ? event : { ...event, call });
    if (schema === undefined || !complete) return;
    // The arguments still reach the client as the model wrote them.
    const flaw = argumentFlaw(open.text + text, schema);
    if (flaw === undefined) return;
    const reason = `the arguments of a call of \`${open.name}\` ${flaw}`;
    this.#report({ path: "output", action: "noticed", reason });
  }

  /** The reason why a call is withheld, if it is. */
  #forbids(bound: Bound | undefined, calls: Calls): string | undefined {
    const { allowed } = this.#plan.limits;
    if (allowed !== undefined && (bound === undefined || !allowed.has(bound)))
      return allowed.size === 0
        ? "the client allowed no calls"
        : "the client did not allow this tool";
    if (this.#plan.limits.parallel || calls.passed === 0) return undefined;
    const { figures, rules } = this.#withholding;
    if (rules?.parallel === false) figures.truncated = true;
    return "only one call per answer is allowed";
  }
}

type Called = Pick<CallStart<UpstreamName>, "kind" | "name" | "namespace">;

/** The tool that a call names. Models write names as they remember them, with a namespace or without. */
export function recognise(call: Called, identity: ToolIdentityMap): Bound | undefined {
  const exact = identity.byAlias(call);
  if (exact !== undefined) return exact;
  const { name, namespace } = call;
  const flat = namespace === undefined ? undefined : identity.byNickname(`${namespace}.${name}`);
  return identity.byName(name, namespace) ?? flat ?? identity.byNickname(name);
}

/**
 * Gives a call the client's name for its tool. A call of an undeclared tool
 * passes unchanged. `asFunction`: the client gets calls of built-in tools as calls
 * of functions, so their kind does not matter.
 */
export function restoreToolCall(
  call: CallStart<UpstreamName>,
  bound: Bound | undefined,
  asFunction = false,
): CallStart<ClientName> {
  // If nothing differs, the upstream's name is the client's.
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
  // The tool takes text and was declared so, but the model called it with arguments.
  if (bound.upstream.kind === "custom" && call.kind === "function") return customStandIn.decoder();
  // Free text in place of arguments is the input already.
  return call.kind === "custom" ? undefined : bound.form?.decoder();
}

/** The violation in a call's arguments. It quotes the schema and never the arguments. */
function argumentFlaw(text: string, schema: JsonSchema): string | undefined {
  const value = text.trim() === "" ? {} : jsonOf(text);
  if (value === undefined) return "are not JSON";
  const errors = errorsIn(value, schema, text.length);
  if (errors === undefined) return "could not be checked against its schema";
  const error = errors.at(-1);
  return error && `violate its schema at \`${error.keywordLocation.slice(0, 200)}\``;
}
