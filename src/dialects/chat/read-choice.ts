import { assembleCalls, type Fragment } from "../../stream/assemble.ts";
import type { Emit } from "../../stream/stage.ts";
import type { NewId } from "../../turn/clock.ts";
import type { StopReason, TurnEvent } from "../../turn/event.ts";
import { Fault } from "../../turn/fault.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import { fieldsOf, listOf, textOf } from "../loose.ts";
import { saidError } from "../said-error.ts";
import { nameless } from "../unreadable.ts";
import { isWholeAnnotation, readAnnotation } from "./citations.ts";
import { addDetails, detailsText } from "./details.ts";
import { readFinish } from "./finish.ts";

type Event = TurnEvent<UpstreamName>;

/** Reads one choice of an answer, whatever shape its pieces have. */
export type ChoiceReader = {
  /** Takes an entry of `choices`. True if it is as the OpenAI API would have sent it. */
  each(raw: Fields, whole: boolean, emit: Emit<Event>): boolean;
  /** Notes an annotation that stood outside of the choice. */
  note(annotation: unknown, emit: Emit<Event>): void;
  /** Takes text that is known to be all that a frame says. */
  more(event: Spoken, text: string, emit: Emit<Event>): void;
  /** The answer is over and never said how this choice ended. */
  close(emit: Emit<Event>): void;
  finished(): boolean;
  hasText(): boolean;
  /** Whether it has said anything but its end. */
  told(): boolean;
  /** Whether a call has been heard of and cannot be told of yet. */
  waiting(): boolean;
  /** What the last entry said, if it did nothing else than to say it. */
  spoken(): Spoken | undefined;
};

/** A delta that is the whole effect of a frame. */
export type Spoken = Extract<
  Event,
  { type: "text-delta" | "reasoning-delta" | "refusal-delta" | "call-delta" }
>;

export function choiceReader(index: number, newId: NewId): ChoiceReader {
  const calls = assembleCalls(index, newId);
  let details: Fields[] = [];
  let hasRole = false;
  let hasReasoning = false;
  let told = false;
  let hasText = false;
  let finished = false;
  // Of the entry at hand:
  let regular = true;
  let plain = true;
  let said: Event | undefined;
  let emit: Emit<Event>;

  const say = (event: Event): void => {
    if (said !== undefined) plain = false;
    if (!hasRole || finished) regular = false;
    // That it is over the client hears last of all.
    if (event.type !== "turn-end") told = true;
    said = event;
    emit(event);
  };
  /** Reasoning that has details ends with them, so it is ended before anything else begins. */
  const seal = (): void => {
    if (details.length === 0) return;
    plain = false;
    say({ type: "reasoning-end", choice: index, details });
    details = [];
  };
  const sayText = (text: string, logprobs?: readonly unknown[]): void => {
    if (text === "" && logprobs === undefined) return;
    seal();
    hasText = true;
    say({
      type: "text-delta",
      choice: index,
      text,
      ...(logprobs === undefined ? {} : { logprobs }),
    });
  };
  const sayCall = (event: Event): void => {
    seal();
    say(event);
  };
  const sayReasoning = (text: string): void => {
    if (text === "") return;
    say({ type: "reasoning-delta", choice: index, text, of: "content", part: 0 });
  };
  const fail = (fault: Fault): void => {
    regular = false;
    say({ type: "turn-fail", fault });
  };

  const readRole = (role: unknown): void => {
    if (role === undefined) return;
    if (hasRole || role !== "assistant") regular = false;
    if (role === null) return;
    if (!hasRole) plain = false;
    hasRole = true;
  };
  const readReasoning = (delta: Fields, whole: boolean): void => {
    const more = listOf(delta.reasoning_details);
    const text = textOf(delta.reasoning_content) ?? textOf(delta.reasoning);
    hasReasoning ||= text !== undefined;
    // Who says it in both ways is heard once.
    sayReasoning(text ?? (hasReasoning ? "" : detailsText(more ?? [])));
    if (more === undefined || more.length === 0) return;
    plain = false;
    if (!whole) return addDetails(details, more);
    for (const entry of more) details.push(...[fieldsOf(entry)].filter((one) => one !== undefined));
  };
  const readContent = (content: unknown, logprobs: readonly unknown[] | undefined): void => {
    if (typeof content === "string") return sayText(content, logprobs);
    if (content === undefined || content === null) return;
    regular = false;
    for (const part of listOf(content) ?? []) {
      const thinking = fieldsOf(part)?.thinking;
      if (thinking === undefined) sayText(textOf(fieldsOf(part)?.text ?? part) ?? "");
      else sayReasoning(textOf(thinking) ?? detailsText(listOf(thinking) ?? []));
    }
  };
  const readAnnotations = (annotations: unknown): void => {
    for (const raw of listOf(annotations) ?? []) {
      if (!isWholeAnnotation(raw)) regular = false;
      hasText = true;
      seal();
      say({ type: "text-note", choice: index, annotation: readAnnotation(raw) });
    }
  };
  const readCalls = (delta: Fields, whole: boolean): void => {
    const list = listOf(delta.tool_calls) ?? [delta.tool_calls].filter((one) => one != null);
    for (const [at, entry] of list.entries()) {
      const raw = fieldsOf(entry);
      if (raw === undefined || list !== delta.tool_calls) regular = false;
      if (raw === undefined) continue;
      const fragment = fragmentOf(raw, at, whole);
      if (textOf(fragment.name) !== undefined) {
        // A header repeated with every piece is weighed each time anew.
        plain = false;
        if (!isOwnHeader(raw)) regular = false;
      }
      calls.each(fragment, sayCall);
    }
    const legacy = fieldsOf(delta.function_call);
    if (legacy !== undefined) {
      plain = false;
      const { name, arguments: input } = legacy;
      calls.each({ index: 0, kind: "function", name: textOf(name), input }, sayCall);
    }
    if (calls.repaired()) regular = false;
  };
  const readEntry = (raw: Fields, whole: boolean): void => {
    const message = fieldsOf(raw.message);
    if (whole && message !== undefined) return readDelta(message, raw, true);
    const delta = fieldsOf(raw.delta);
    if (delta !== undefined) return readDelta(delta, raw, false);
    regular = false;
    // A message that sums up what was already streamed says nothing new.
    if (!told) readDelta(message ?? { content: raw.text }, raw, true);
  };
  const readDelta = (delta: Fields, raw: Fields, whole: boolean): void => {
    readRole(delta.role);
    readReasoning(delta, whole);
    const logprobs = listOf(fieldsOf(raw.logprobs)?.content);
    readContent(delta.content, logprobs?.length === 0 ? undefined : logprobs);
    const refusal = textOf(delta.refusal);
    if (refusal !== undefined) {
      seal();
      hasText = true;
      say({ type: "refusal-delta", choice: index, text: refusal });
    }
    readAnnotations(delta.annotations);
    readCalls(delta, whole);
  };
  const readEnd = (reason: unknown): void => {
    if (reason === undefined || reason === null) return;
    const word = textOf(reason);
    plain = false;
    if (word === undefined || finished) {
      regular = false;
      return;
    }
    const { stop, regular: isOwn } = readFinish(word);
    // Whether calls were made is a fact, and what a client goes by.
    const isTrue = stop === "calls" ? calls.made() : stop !== "end" || !calls.made();
    if (!isOwn || !isTrue) regular = false;
    if (stop instanceof Fault) fail(stop);
    else end(stop);
  };
  const end = (stop: StopReason): void => {
    calls.end(sayCall);
    seal();
    if (calls.repaired()) regular = false;
    if (calls.nameless()) return fail(nameless());
    say({ type: "turn-end", choice: index, stop });
    finished = true;
  };

  return {
    each(raw, whole, to) {
      emit = to;
      regular = true;
      plain = true;
      said = undefined;
      if (raw.error != null) {
        const fault = saidError(raw);
        if (fault !== undefined) fail(fault);
      }
      readEntry(raw, whole);
      readEnd(raw.finish_reason);
      return regular;
    },
    note(annotation, to) {
      plain = false;
      to({ type: "text-note", choice: index, annotation });
    },
    more(event, text, to) {
      if (event.type === "text-delta") to({ type: "text-delta", choice: index, text });
      else if (event.type === "call-delta") calls.more(event.call, text, to);
      else to({ ...event, text });
    },
    close(to) {
      // That the stream is over does not say that arguments are: those were cut off.
      if (finished || calls.unclosed()) return;
      emit = to;
      end(calls.made() ? "calls" : "end");
    },
    finished: () => finished,
    hasText: () => hasText,
    told: () => told,
    waiting: () => calls.waiting(),
    spoken() {
      if (!plain || said === undefined) return undefined;
      switch (said.type) {
        case "text-delta":
          return said.logprobs === undefined ? said : undefined;
        case "reasoning-delta":
        case "refusal-delta":
        case "call-delta":
          return said;
        default:
          return undefined;
      }
    },
  };
}

function fragmentOf(raw: Fields, at: number, whole: boolean): Fragment {
  const custom = fieldsOf(raw.custom);
  const body = fieldsOf(raw.function) ?? custom ?? raw;
  const { index, id, type } = raw;
  return {
    index: typeof index === "number" ? index : whole ? at : undefined,
    id: typeof id === "number" ? String(id) : wordOf(id),
    kind: wordOf(type) ?? (custom === undefined ? undefined : "custom"),
    name: wordOf(body.name),
    input: body.arguments === undefined ? body.input : body.arguments,
    beside: at > 0,
    extra: besideCall(raw),
  };
}

const callFields = new Set("index id type function custom name arguments input".split(" "));

/** Fields of a call that are a provider's own. */
function besideCall(raw: Fields): Fields | undefined {
  let extra: Record<string, unknown> | undefined;
  for (const key of Object.keys(raw))
    if (!callFields.has(key) && raw[key] != null) (extra ??= {})[key] = raw[key];
  return extra;
}

const isOwnHeader = ({ id, type, function: fn, custom }: Fields): boolean =>
  typeof id === "string" &&
  (type === "custom" ? custom != null : type === "function" && fn != null);

/** A word, or how its absence was written. */
const wordOf = (value: unknown): string | null | undefined =>
  typeof value === "string" || value === null ? value : undefined;
