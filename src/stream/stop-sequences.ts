import type { TextDelta, TurnEvent } from "../turn/event.ts";
import type { ClientName } from "../turn/names.ts";
import type { Extra } from "../turn/turn.ts";
import type { Emit, EventStage } from "./stage.ts";

type Event = TurnEvent<ClientName>;

type StopSequenceOptions = {
  /** Called at the first text; empty if the upstream itself stops at them. */
  sequences(): readonly string[];
  /** Fields of an end at a sequence. */
  ending(sequence: string): Extra | undefined;
};

/**
 * Ends one choice before the first of some sequences, as upstreams do that have such a parameter.
 * Text that may begin one is held until it is complete or differs. The stage is done when it has
 * cut the choice, which stops the upstream.
 */
export class StopSequences implements EventStage<ClientName> {
  readonly #options: StopSequenceOptions;
  #matchers: readonly Matcher[] | undefined;
  #choice = 0;
  /** The end of the text so far, if a sequence begins with it. */
  #held = "";
  /** The number of complete calls. */
  #calls = 0;
  #found: string | undefined;
  #hasEnded = false;

  constructor(options: StopSequenceOptions) {
    this.#options = options;
  }

  each(event: Event, emit: Emit<Event>): void {
    if (event.type === "turn-end" || event.type === "turn-fail") return this.#end(event, emit);
    if (this.#found !== undefined) return;
    if (event.type === "text-delta") return this.#addText(event, emit);
    // Text before and after any other event is not one text.
    if (event.type !== "text-note") this.#release(emit);
    if (event.type === "call-end") this.#calls++;
    emit(event);
  }

  end(emit: Emit<Event>): void {
    if (this.#found === undefined || this.#hasEnded) return;
    this.#hasEnded = true;
    this.#emitEnd(this.#found, emit);
  }

  done(): boolean {
    return this.#found !== undefined;
  }

  #addText(event: TextDelta, emit: Emit<Event>): void {
    this.#choice = event.choice;
    const matchers = (this.#matchers ??= this.#options.sequences().map((one) => new Matcher(one)));
    if (matchers.length === 0) return emit(event);
    const text = this.#held + event.text;
    for (let at = this.#held.length; at < text.length; at++) {
      const found = advance(matchers, text.charCodeAt(at));
      if (found !== undefined) return this.#cut(text.slice(0, at + 1), found, emit);
    }
    const waiting = matchers.reduce((most, { matched }) => Math.max(most, matched), 0);
    const said = text.slice(0, text.length - waiting);
    this.#held = text.slice(said.length);
    if (said === event.text) return emit(event);
    if (said !== "" || event.logprobs !== undefined) emit({ ...event, text: said });
  }

  #cut(text: string, sequence: string, emit: Emit<Event>): void {
    this.#found = sequence;
    this.#held = "";
    const said = text.slice(0, text.length - sequence.length);
    const choice = this.#choice;
    if (said !== "") emit({ type: "text-delta", choice, text: said });
    emit({ type: "text-end", choice });
  }

  #end(event: Event, emit: Emit<Event>): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    if (this.#found !== undefined) return this.#emitEnd(this.#found, emit);
    this.#release(emit);
    emit(event);
  }

  /** If the choice has made calls, the client has to answer them. */
  #emitEnd(sequence: string, emit: Emit<Event>): void {
    const choice = this.#choice;
    if (this.#calls > 0) return emit({ type: "turn-end", choice, stop: "calls" });
    const extra = this.#options.ending(sequence);
    emit({ type: "turn-end", choice, stop: "end", ...(extra !== undefined && { extra }) });
  }

  #release(emit: Emit<Event>): void {
    if (this.#held !== "") emit({ type: "text-delta", choice: this.#choice, text: this.#held });
    this.#held = "";
    for (const matcher of this.#matchers ?? []) matcher.matched = 0;
  }
}

/** The sequence that a character completes; of several the longest. */
function advance(matchers: readonly Matcher[], code: number): string | undefined {
  let found: string | undefined;
  for (const matcher of matchers)
    if (matcher.push(code) && matcher.sequence.length > (found?.length ?? 0))
      found = matcher.sequence;
  return found;
}

/** Searches for one text by the method of Knuth, Morris and Pratt, which reads every character once. */
class Matcher {
  readonly sequence: string;
  /** Length of the beginning of the sequence that the text ends with. */
  matched = 0;
  /** By length of a beginning of the sequence: length of the longest shorter one that it ends with. */
  readonly #shorter: readonly number[];

  constructor(sequence: string) {
    this.sequence = sequence;
    const shorter = [0, 0];
    for (let length = 0, at = 1; at < sequence.length; at++) {
      while (length > 0 && sequence[at] !== sequence[length]) length = shorter[length] ?? 0;
      if (sequence[at] === sequence[length]) length++;
      shorter.push(length);
    }
    this.#shorter = shorter;
  }

  push(code: number): boolean {
    const { sequence } = this;
    let length = this.matched;
    while (length > 0 && sequence.charCodeAt(length) !== code) length = this.#shorter[length] ?? 0;
    if (sequence.charCodeAt(length) === code) length++;
    this.matched = length;
    return length === sequence.length;
  }
}
