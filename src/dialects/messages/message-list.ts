import { append } from "../../turn/append.ts";
import type { Decision } from "../../turn/decision.ts";
import type { Fields } from "../../turn/turn.ts";

type Role = "user" | "assistant";
type Open = { role: Role | "system"; content: Fields[]; extra: Fields };
type Note = (action: Decision["action"], reason: string) => void;

const CONTINUE = "Continue.";

/** Messages whose roles take turns, beginning with the user's. */
export class MessageList {
  readonly #note: Note;
  /** Whether the model takes the beginning of its answer. */
  readonly #isPrefillTaken: boolean;
  readonly #messages: Open[] = [];
  /** System messages whose place depends on who speaks next. */
  #waiting: Open[] = [];

  constructor(note: Note, isPrefillTaken: boolean) {
    this.#note = note;
    this.#isPrefillTaken = isPrefillTaken;
  }

  add(role: Role, blocks: readonly Fields[], extra: Fields = {}): void {
    if (blocks.length === 0) return;
    this.#settle(role);
    const last = this.#messages.at(-1);
    if (last?.role === role) {
      append(last.content, blocks);
      last.extra = { ...last.extra, ...extra };
      return;
    }
    if (last === undefined && role === "assistant") {
      this.#note("repaired", "a conversation begins with the user's words");
      this.#open("user", [{ type: "text", text: CONTINUE }]);
    }
    this.#open(role, [...blocks], extra);
  }

  /** Instructions in mid-conversation. */
  system(blocks: readonly Fields[], extra: Fields): void {
    if (blocks.length === 0 && Object.keys(extra).length === 0) return;
    this.#waiting.push({ role: "system", content: [...blocks], extra });
  }

  /** All messages, as they are sent. */
  end(): readonly Fields[] {
    this.#settle(undefined);
    const last = this.#messages.at(-1);
    const isPrefill = last?.role === "assistant" && last.content.every(isWords);
    if (last === undefined || (isPrefill && !this.#isPrefillTaken)) {
      this.#note("repaired", "the model answers the user, so the user is taken to have asked");
      this.#open("user", [{ type: "text", text: CONTINUE }]);
    } else if (isPrefill) trimEnd(last.content);
    return this.#messages.map(({ role, content, extra }) => ({ role, content, ...extra }));
  }

  #open(role: Open["role"], content: Fields[], extra: Fields = {}): void {
    this.#messages.push({ role, content, extra });
  }

  /**
   * A system message may stand behind the user's and before the model's or at the
   * end; at other places it is put among the user's words, marked as what it is.
   */
  #settle(next: Role | undefined): void {
    if (this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    if (this.#messages.at(-1)?.role === "user" && next !== "user") {
      const [first, ...others] = waiting;
      if (first === undefined) return;
      for (const other of others) {
        append(first.content, other.content);
        first.extra = { ...first.extra, ...other.extra };
      }
      this.#messages.push(first);
      return;
    }
    this.#note("reshaped", "a system message is put among the user's words, marked as a reminder");
    for (const { content } of waiting)
      for (const block of content)
        this.add("user", [typeof block.text === "string" ? reminder(block, block.text) : block]);
  }
}

const reminder = (block: Fields, text: string): Fields => ({
  ...block,
  text: `<system-reminder>\n${text}\n</system-reminder>`,
});

const isWords = ({ type }: Fields): boolean =>
  type === "text" || type === "thinking" || type === "redacted_thinking";

/** The beginning of an answer may not end in blanks. */
function trimEnd(content: Fields[]): void {
  const last = content.at(-1);
  if (last?.type === "text" && typeof last.text === "string")
    content[content.length - 1] = { ...last, text: last.text.trimEnd() };
}
