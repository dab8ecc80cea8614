import { folding } from "../../stream/fold.ts";
import type { Emit } from "../../stream/stage.ts";
import { isCut, type CallStart, type TurnEnd, type TurnEvent } from "../../turn/event.ts";
import { Fault } from "../../turn/fault.ts";
import { clientName, type ClientName } from "../../turn/names.ts";
import type { Call, Item } from "../../turn/turn.ts";
import { CallAnswers, isForbidden, toolNamed, type Outcome } from "./answer-calls.ts";
import { writeSeal, type HiddenExchange } from "../../turn/seal.ts";
import type { FoldedQuestion } from "./ask.ts";
import type { Folded } from "./folded.ts";

type Event = TurnEvent<ClientName>;

/** A call that is held back until it is whole. */
type Held = { readonly start: CallStart<ClientName>; readonly answer: Answering; input: string };
type Answering = (call: Call) => Outcome;

export type RoundAnswerOptions = {
  readonly folded: Folded;
  readonly question: FoldedQuestion;
  /** Whether no other round may follow. */
  readonly isLast: boolean;
  /** Whether the client's dialect has a place for seals. */
  readonly seals: boolean;
  /** The id that the client is given for a call. */
  idFor(id: string): string;
  /** A call was answered here, or will be in the next round. */
  answered(exchange: HiddenExchange, isMiss: boolean): HiddenExchange;
};

/** The answer of one round on its way to the client, without what is not for the client. */
export class RoundAnswer {
  readonly #options: RoundAnswerOptions;
  readonly #answers: CallAnswers;
  readonly #said = folding<ClientName>();
  readonly #held = new Map<number, Held>();
  /** Calls that the client sees while they come. */
  readonly #open = new Set<number>();
  /** What waits for those to be over. */
  #waiting: Event[] = [];
  /** By the call's id. */
  readonly #hidden = new Map<string, HiddenExchange>();
  #given = 0;
  #isCut = false;

  constructor(options: RoundAnswerOptions) {
    this.#options = options;
    const { folded, question, isLast } = options;
    this.#answers = new CallAnswers(folded, question.disclosure, isLast);
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
        if (held !== undefined) return this.#settle(held, event.complete, emit);
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

  /** Whether all calls of the answer were answered here, so that the model is to be asked again. */
  get continues(): boolean {
    return this.#hidden.size > 0 && this.#given === 0 && !this.#isCut && !this.#options.isLast;
  }

  /** What the model said, each hidden call followed by its answer. */
  items(): readonly (Item | HiddenExchange)[] {
    return this.#said.items(0).flatMap((item): (Item | HiddenExchange)[] => {
      if (item.type !== "call") return [item];
      const exchange = this.#hidden.get(item.id);
      return exchange === undefined ? [] : [exchange];
    });
  }

  /** A model that wants to go on where no round may follow has not come to its end. */
  #end(event: TurnEnd, emit: Emit<Event>): void {
    this.#isCut = isCut(event.stop);
    const isHidden = this.#hidden.size > 0 && this.#given === 0 && !this.#isCut;
    if (isHidden && this.#options.isLast) {
      const hasSpoken = this.#said.items(0).some(({ type }) => type === "message");
      if (!hasSpoken) return emit({ type: "turn-fail", fault: roundsUsedUp() });
      return emit({ ...event, stop: "length" });
    }
    emit(event.stop === "calls" && this.#given === 0 ? { ...event, stop: "end" } : event);
  }

  #start(event: CallStart<ClientName>, emit: Emit<Event>): void {
    const answer = this.#answering(event);
    if (answer !== undefined) {
      this.#held.set(event.call, { start: event, answer, input: "" });
      return;
    }
    this.#given++;
    this.#open.add(event.call);
    const tool = event.kind === "function" ? this.#declared(event) : undefined;
    const id = this.#options.idFor(event.id);
    const { namespace: _, ...rest } = event;
    if (tool !== undefined) emit({ ...rest, ...tool.client, id });
    else emit(id === event.id ? event : { ...event, id });
  }

  /** A folded tool that this round declares: its calls are taken as they come. */
  #declared({ name }: CallStart<ClientName>) {
    const { folded, question } = this.#options;
    const tool = folded.tools.get(name);
    const isLoaded = folded.strategy === "native" || question.declared.has(name);
    return tool !== undefined && isLoaded ? tool : undefined;
  }

  /** How a call is answered once it is whole; undefined: the client sees it while it comes. */
  #answering(event: CallStart<ClientName>): Answering | undefined {
    const { folded } = this.#options;
    const { names } = folded;
    const answers = this.#answers;
    if (event.kind === "tool_search" && folded.strategy === "native")
      return (call) => answers.reading(call);
    if (event.kind !== "function") return undefined;
    if (event.name === clientName(names.read)) return (call) => answers.reading(call);
    if (event.name === clientName(names.call) && folded.strategy === "wrap")
      return (call) => answers.wrapped(call);
    if (isForbidden(event, folded)) return (call) => answers.forbidden(call);
    if (this.#isClients(event) || this.#declared(event) !== undefined) return undefined;
    const tool = toolNamed(event.name, folded);
    return tool === undefined ? undefined : (call) => answers.undeclared(call, tool);
  }

  /** Whether it is of a tool that stays declared as the client has it. */
  #isClients({ name, namespace }: CallStart<ClientName>): boolean {
    return this.#options.folded.direct.some((tool) => {
      if (tool.type !== "namespace") return namespace === undefined && tool.name === name;
      return tool.name === namespace && tool.tools.some((member) => member.name === name);
    });
  }

  #settle({ start, answer, input }: Held, isComplete: boolean, emit: Emit<Event>): void {
    // What was cut off is nobody's call.
    if (!isComplete) return;
    const { choice: _, call: __, type: ___, ...rest } = start;
    const outcome = answer({ ...rest, type: "call", input });
    if (outcome.type === "hidden") return this.#hide(start, outcome, emit);
    this.#given++;
    const { namespace: ____, itemId: _____, ...bare } = start;
    const who =
      outcome.type === "client" ? outcome.tool.client : { name: clientName(outcome.name) };
    const { choice, call } = start;
    const id = this.#options.idFor(start.id);
    this.#waiting.push(
      { ...bare, ...who, kind: "function", id },
      { type: "call-delta", choice, call, text: outcome.input },
      { type: "call-end", choice, call, complete: true },
    );
    this.#release(emit);
  }

  #hide(
    { choice, id }: CallStart<ClientName>,
    { exchange, isMiss }: Extract<Outcome, { type: "hidden" }>,
    emit: Emit<Event>,
  ): void {
    const kept = this.#options.answered(exchange, isMiss);
    this.#hidden.set(id, kept);
    if (!this.#options.seals) return;
    this.#waiting.push(
      { type: "reasoning-start", choice },
      { type: "reasoning-end", choice, encrypted: writeSeal({ from: "", hidden: kept }) },
    );
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
