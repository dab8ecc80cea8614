/** Reads the answer of one round: calls that ask about folded tools are answered here. */

import { currentState, unknownTool, violationOf, violationText } from "../../agent/lower.ts";
import { keyIn, unwrapCall } from "../../agent/loader.ts";
import { readingText, readSection } from "../../agent/catalog.ts";
import type { OpenedBy } from "../../agent/session.ts";
import { AnswerFold } from "../../stream/fold.ts";
import type { Emit } from "../../stream/stage.ts";
import { fullName, identityKey } from "../../tools/names/identity.ts";
import { isCut, type CallStart, type TurnEnd, type TurnEvent } from "../../turn/event.ts";
import { Fault } from "../../turn/fault.ts";
import { clientName, type ClientName } from "../../turn/names.ts";
import { type HiddenExchange, writeSeal } from "../../turn/seal.ts";
import type { Call, Item } from "../../turn/turn.ts";
import type { Folded, FoldedTool } from "./fold.ts";
import { type FoldedQuestion, openedSection } from "./question.ts";

type Event = TurnEvent<ClientName>;

/** A call that is held back until it is whole. */
type Held = { readonly start: CallStart<ClientName>; readonly answer: Answering; input: string };
/** Answers a whole call; undefined: the client got it. */
type Answering = (call: Call) => Outcome;

/** The result of a whole call. */
type Outcome =
  /** The gateway answers it. `isMiss`: it asked for something that does not exist, or wrongly. */
  | { readonly exchange: HiddenExchange; readonly isMiss: boolean }
  /** The client runs it: a folded tool, or in the last round a tool that does not exist. */
  | { readonly client: FoldedTool["client"]; readonly input: string };

/** The turn that a round belongs to. */
export type RoundOwner = {
  /** True if the client's dialect has a place for seals. */
  readonly seals: boolean;
  /** The id that the client is given for a call. */
  idFor(id: string): string;
  /** Notes an exchange. Gives it back in the form in which the next request has it. */
  answered(exchange: HiddenExchange, isMiss: boolean): HiddenExchange;
};

/** The answer of one round on its way to the client, without the calls that are answered here. */
export class RoundAnswer {
  readonly #folded: Folded;
  readonly #question: FoldedQuestion;
  readonly #owner: RoundOwner;
  /** True if no other round may follow: then there is nobody left to correct. */
  readonly #isLast: boolean;
  readonly #said = new AnswerFold<ClientName>();
  readonly #held = new Map<number, Held>();
  /** Calls that the client sees while they come. */
  readonly #open = new Set<number>();
  /** Events that wait for the end of those calls. */
  #waiting: Event[] = [];
  /** By the call's id. */
  readonly #hidden = new Map<string, HiddenExchange>();
  #given = 0;
  #isCut = false;

  constructor(folded: Folded, question: FoldedQuestion, owner: RoundOwner, isLast: boolean) {
    this.#folded = folded;
    this.#question = question;
    this.#owner = owner;
    this.#isLast = isLast;
  }

  each(event: Event, emit: Emit<Event>): void {
    this.#said.each(event);
    switch (event.type) {
      case "call-start":
        return this.#start(event, emit);
      case "call-delta": {
        const held = this.#held.get(event.call);
        if (held === undefined) return emit(event);
        held.input += event.text;
        return;
      }
      case "call-end": {
        const held = this.#held.get(event.call);
        // A call that was cut off is neither answered nor passed on.
        if (held !== undefined) return event.complete ? this.#settle(held, emit) : undefined;
        emit(event);
        this.#open.delete(event.call);
        return this.#release(emit);
      }
      case "turn-end":
        return this.#end(event, emit);
      default:
        emit(event);
    }
  }

  end(emit: Emit<Event>): void {
    this.#open.clear();
    this.#release(emit);
  }

  /** True if all calls of the answer were answered here, so that the model is to be asked again. */
  get continues(): boolean {
    return this.#isHidden && !this.#isLast;
  }

  get #isHidden(): boolean {
    return this.#hidden.size > 0 && this.#given === 0 && !this.#isCut;
  }

  /** The items of the answer; a hidden call is an exchange. */
  items(): readonly (Item | HiddenExchange)[] {
    return this.#said.items(0).flatMap((item): (Item | HiddenExchange)[] => {
      if (item.type !== "call") return [item];
      const exchange = this.#hidden.get(item.id);
      return exchange === undefined ? [] : [exchange];
    });
  }

  /** Ends the answer. A model that wants to go on in the last round has not come to its end. */
  #end(event: TurnEnd, emit: Emit<Event>): void {
    this.#isCut = isCut(event.stop);
    if (this.#isHidden && this.#isLast) {
      const hasSpoken = this.#said.items(0).some(({ type }) => type === "message");
      if (!hasSpoken) return emit({ type: "turn-fail", fault: roundsUsedUp() });
      return emit({ ...event, stop: "length" });
    }
    emit(event.stop === "calls" && this.#given === 0 ? { ...event, stop: "end" } : event);
  }

  #start(event: CallStart<ClientName>, emit: Emit<Event>): void {
    const tool = event.kind === "function" ? this.#declared(event.name) : undefined;
    const answer = this.#answering(event, tool);
    if (answer !== undefined) {
      this.#held.set(event.call, { start: event, answer, input: "" });
      return;
    }
    this.#given++;
    this.#open.add(event.call);
    const id = this.#owner.idFor(event.id);
    const { namespace: _, ...rest } = event;
    if (tool !== undefined) emit({ ...rest, ...tool.client, id });
    else emit(id === event.id ? event : { ...event, id });
  }

  /** The folded tool with a name, if this round declares it: its calls are passed on as they come. */
  #declared(name: string): FoldedTool | undefined {
    const isLoaded = this.#folded.strategy === "native" || this.#question.list.declared.has(name);
    return isLoaded ? this.#folded.tools.get(name) : undefined;
  }

  /** The folded tool that a model means by a name. */
  #named(name: string): FoldedTool | undefined {
    return this.#folded.tools.get(name) ?? this.#folded.aliases.get(name) ?? undefined;
  }

  /** How a call is answered once it is whole; undefined: the client sees it while it comes. */
  #answering(
    event: CallStart<ClientName>,
    declared: FoldedTool | undefined,
  ): Answering | undefined {
    const { names, strategy, forbidden } = this.#folded;
    const { kind, name } = event;
    if (kind === "tool_search" && strategy === "native") return (call) => this.#read(call);
    if (kind !== "function") return undefined;
    if (name === clientName(names.read)) return (call) => this.#read(call);
    if (name === clientName(names.call) && strategy === "wrap") return (call) => this.#unwrap(call);
    if (forbidden.has(identityKey(event)))
      return (call) => this.#miss(call, { tool: name }, this.#unknownTool(fullName(call)));
    if (declared !== undefined || this.#isClients(event)) return undefined;
    const tool = this.#named(name);
    return tool && ((call) => this.#checked(call, tool, call.input, { tool: tool.name }));
  }

  /** True for a call of a tool that stays declared as the client has it. */
  #isClients({ name, namespace }: CallStart<ClientName>): boolean {
    return this.#folded.direct.some((tool) => {
      if (tool.type !== "namespace") return namespace === undefined && tool.name === name;
      return tool.name === namespace && tool.tools.some((member) => member.name === name);
    });
  }

  /** Answers a call of the tool that reads sections. */
  #read(call: Call): Outcome {
    const { catalog, names } = this.#folded;
    const key = keyIn(call.input);
    if (key === undefined)
      return this.#miss(call, "read", `\`${names.read}\` takes {"key": the key of a section}.`);
    const state = currentState(this.#question.disclosure);
    const reading = readSection(catalog, key, state, names.read);
    if (reading.type === "unknown") {
      // A model that asks for a tool is told which section has it.
      const tool = this.#named(key.trim());
      const hint =
        tool && `\`${tool.name}\` is a tool of the section "${tool.section}". Read that.`;
      return this.#miss(call, "read", hint ?? reading.message);
    }
    const opens = reading.type === "opened" ? reading.opens : [];
    this.#openSections(opens, "model");
    const loaded = reading.tools.map(({ name }) => name);
    const text = readingText(reading);
    const { id, input } = call;
    return { exchange: { id, of: "read", input, text, opens, loaded }, isMiss: false };
  }

  /** Answers a call of the tool through which others are called. */
  #unwrap(call: Call): Outcome {
    const inner = unwrapCall(call.input, this.#folded.names);
    if (!inner.ok) return this.#miss(call, "call", inner.message);
    const tool = this.#named(inner.name);
    if (tool !== undefined) return this.#checked(call, tool, inner.input, "call");
    if (this.#isLast) return { client: { name: clientName(inner.name) }, input: inner.input };
    return this.#miss(call, "call", this.#unknownTool(inner.name));
  }

  /** In the last round the client looks at the arguments itself. */
  #checked(call: Call, tool: FoldedTool, input: string, of: HiddenExchange["of"]): Outcome {
    const defined = this.#isLast ? undefined : this.#folded.catalog.tools.get(tool.name);
    const problem = defined && violationOf(defined, input);
    if (problem !== undefined && defined !== undefined)
      return this.#miss(call, of, violationText(defined, problem));
    this.#openSections([tool.section], "call");
    return { client: tool.client, input: input.trim() === "" ? "{}" : input };
  }

  #miss({ id, input }: Call, of: HiddenExchange["of"], text: string): Outcome {
    return { exchange: { id, of, input, text, opens: [], loaded: [] }, isMiss: true };
  }

  #unknownTool(name: string): string {
    return unknownTool(name, [...this.#folded.tools.keys()]);
  }

  #openSections(paths: readonly string[], by: OpenedBy): void {
    const { session } = this.#question;
    session.dispatch(...paths.map((path) => openedSection(path, by)));
  }

  #settle({ start, answer, input }: Held, emit: Emit<Event>): void {
    const { choice, call, type: _, ...rest } = start;
    const outcome = answer({ ...rest, type: "call", input });
    if ("exchange" in outcome) {
      const kept = this.#owner.answered(outcome.exchange, outcome.isMiss);
      this.#hidden.set(start.id, kept);
      if (!this.#owner.seals) return;
      this.#waiting.push(
        { type: "reasoning-start", choice },
        { type: "reasoning-end", choice, encrypted: writeSeal({ from: "", hidden: kept }) },
      );
    } else {
      this.#given++;
      const { namespace: __, itemId: ___, ...bare } = start;
      const id = this.#owner.idFor(start.id);
      this.#waiting.push(
        { ...bare, ...outcome.client, kind: "function", id },
        { type: "call-delta", choice, call, text: outcome.input },
        { type: "call-end", choice, call, complete: true },
      );
    }
    this.#release(emit);
  }

  /** Blocks do not begin within a call that is still coming. */
  #release(emit: Emit<Event>): void {
    if (this.#open.size > 0) return;
    const ready = this.#waiting;
    this.#waiting = [];
    for (const event of ready) emit(event);
  }
}

const roundsUsedUp = (): Fault =>
  new Fault(
    "disclosure.rounds",
    "The model asked about folded tools as often as it may, and gave no answer. Raise `tools.disclosure.rounds`, or declare fewer tools.",
  );
