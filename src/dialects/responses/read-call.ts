import { checkHeld } from "../../stream/length-limit.ts";
import { upstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import { inputText, filledText } from "../shared/loose.ts";
import { nameless } from "../errors/upstream-error.ts";
import { extraOf } from "./fields.ts";
import type { CallKind } from "./kinds.ts";
import {
  choice,
  remainder,
  type ItemReader,
  type ItemContext,
  type StreamedText,
} from "./item-context.ts";

const known = ["type", "id", "call_id", "name", "namespace", "status"];

/**
 * Reads a call to the client. One of a function or custom tool is emitted as soon
 * as its name is known, one of a built-in kind when it is complete:
 * before that it has no input, and its call id has been seen to change.
 */
export class CallReader implements ItemReader {
  readonly #kind: CallKind;
  readonly #to: ItemContext;
  readonly #input: StreamedText = { text: "", done: false };
  /** Only tools that have names have inputs that come in pieces. */
  readonly #isNamed: boolean;
  #seen: Fields;
  /** Its number, once its start has been emitted. */
  #call: number | undefined;
  /** What came before the name did. */
  #held = "";

  constructor(kind: CallKind, first: Fields, to: ItemContext) {
    this.#kind = kind;
    this.#to = to;
    this.#isNamed = kind.wrap === undefined;
    this.#seen = first;
    if (this.#isNamed && filledText(first[kind.input]) !== undefined) to.markMissedDelta();
    if (this.#isNamed && filledText(first.name) !== undefined) this.#start();
  }

  each(type: string, raw: Fields): void {
    if (!this.#isNamed) return;
    if (type.endsWith(".delta")) {
      if (typeof raw.delta === "string") this.#grow(raw.delta);
      else this.#to.markRepaired();
      return;
    }
    if (!type.endsWith(".done")) return;
    if (this.#call === undefined && filledText(raw.name) !== undefined) {
      this.#seen = { ...this.#seen, name: raw.name };
      this.#start();
    }
    this.#finish(raw[this.#kind.input]);
  }

  close(raw: Fields | undefined, complete: boolean): void {
    if (this.#call === undefined) {
      if (this.#isNamed) this.#to.markRepaired();
      this.#seen = { ...this.#seen, ...raw };
      // Nothing has been passed on, so what it came to counts and not the pieces that waited.
      if (inputText(raw?.[this.#kind.input]) !== "") this.#held = "";
    }
    if (this.#isNamed && filledText(this.#seen.name) === undefined)
      return this.#to.emit({ type: "turn-fail", fault: nameless() });
    const call = this.#start();
    if (raw !== undefined || this.#isNamed) this.#finish((raw ?? this.#seen)[this.#kind.input]);
    // Told of no end, the end of the stream decides whether it is complete.
    if (raw !== undefined) this.#to.emit({ type: "call-end", choice, call, complete });
  }

  #start(): number {
    if (this.#call !== undefined) return this.#call;
    const seen = this.#seen;
    const call = (this.#call = this.#to.nextCall());
    const namespace = filledText(seen.namespace);
    const itemId = filledText(seen.id);
    this.#to.emit({
      type: "call-start",
      choice,
      call,
      id: this.#id(),
      kind: this.#kind.kind,
      name: upstreamName(this.#isNamed ? (filledText(seen.name) ?? "") : this.#kind.kind),
      ...(namespace && { namespace }),
      ...(itemId && { itemId }),
      extra: extraOf(seen, [...known, this.#kind.input]),
    });
    if (this.#held !== "") this.#grow(this.#held);
    return call;
  }

  #id(): string {
    const { callIds, newId } = this.#to;
    let id = filledText(this.#seen.call_id);
    if (id === undefined || callIds.has(id)) {
      this.#to.markRepaired();
      id = newId("call");
    }
    callIds.add(id);
    return id;
  }

  /** A call cannot be emitted without a name: what comes before the name waits. */
  #grow(text: string): void {
    if (this.#call === undefined) {
      this.#to.markRepaired();
      this.#held += text;
      checkHeld(this.#held.length);
      return;
    }
    this.#input.text += text;
    this.#to.emit({ type: "call-delta", choice, call: this.#call, text });
  }

  #finish(whole: unknown): void {
    if (this.#call === undefined || whole === undefined || whole === null) return;
    if (!this.#isNamed) return this.#grow(inputText(whole));
    if (typeof whole !== "string") this.#to.markRepaired();
    const text = remainder(this.#input, inputText(whole), this.#to);
    if (text !== "") this.#to.emit({ type: "call-delta", choice, call: this.#call, text });
  }
}
