/** The events of a turn, and the rules that every stream of them keeps. */

import type { Fault } from "./fault.ts";
import type { AnyName } from "./names.ts";
import type { DialectName, Extra, Fields } from "./turn.ts";

/**
 * `calls`: the model waits for results. `filter`: the provider stopped the answer. `pause`: the
 * provider interrupted a long turn, and continues it if it is sent its own answer.
 */
export type StopReason = "end" | "calls" | "length" | "filter" | "pause";

/** True if the answer ended before the model was finished. */
export const isCut = (stop: StopReason): boolean => stop !== "end" && stop !== "calls";

export type Usage = {
  readonly input: number;
  readonly output: number;
  readonly total: number;
  /** Input tokens that were read from a cache, and written to one. */
  readonly cached?: number | undefined;
  readonly cacheWrite?: number | undefined;
  readonly reasoning?: number | undefined;
  /** Other counts of the upstream, such as the searches that it made. */
  readonly extra?: Extra | undefined;
  /** True if a part is an estimate, because an upstream did not count all of its tokens. */
  readonly estimated?: true | undefined;
};

/** The sum of two counts. A field that only one of them has keeps its value. */
export const addUsage = (a: Usage, b: Usage): Usage => ({
  input: a.input + b.input,
  output: a.output + b.output,
  total: a.total + b.total,
  cached: addCount(a.cached, b.cached),
  cacheWrite: addCount(a.cacheWrite, b.cacheWrite),
  reasoning: addCount(a.reasoning, b.reasoning),
  ...(b.extra !== undefined && { extra: b.extra }),
  ...((a.estimated ?? b.estimated) && { estimated: true }),
});

const addCount = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : a + b;

/**
 * The events of an answer. Events of one of `n` answers carry its `choice`; the start, the count, a
 * failure and frames belong to the whole turn.
 *
 * A reader may leave out starts and ends that the upstream did not send; the stage
 * `StreamNormalizer` adds them. After it, a block is opened before its deltas and closed once, all
 * blocks are closed before their choice's `turn-end`, and the stream holds either one `turn-end`
 * for each choice or, last, one `turn-fail`.
 */
export type TurnEvent<Name extends AnyName> =
  | TurnStart
  | TextStart
  | TextBreak
  | TextDelta
  | TextNote
  | TextEnd
  | RefusalDelta
  | ReasoningStart
  | ReasoningDelta
  | ReasoningEnd
  | VendorExtra
  | CallStart<Name>
  | CallDelta
  | CallEnd
  | ItemStart
  | ItemNote
  | ItemEnd
  | UsageCount
  | TurnEnd
  | TurnFail
  | Frame;

/** The events of one type, or of several. */
export type EventOf<Type extends TurnEvent<Name>["type"], Name extends AnyName> = Extract<
  TurnEvent<Name>,
  { readonly type: Type }
>;

export type TurnStart = {
  readonly type: "turn-start";
  /** The upstream's dialect, which defines the ids and extra fields of the answer. */
  readonly dialect?: DialectName | undefined;
  readonly id?: string | undefined;
  readonly model?: string | undefined;
  /** Seconds since the epoch by the upstream's clock. */
  readonly created?: number | undefined;
  /** Other fields of the whole answer. */
  readonly extra?: Fields | undefined;
};

/** An event of one choice. */
type OfChoice<Type extends string> = { readonly type: Type; readonly choice: number };

/** Opens a message; its text and refusals follow. */
export type TextStart = OfChoice<"text-start"> & {
  /** The upstream's id of the message. */
  readonly id?: string | undefined;
  readonly phase?: string | undefined;
};
/** Begins a new part of the same message. */
export type TextBreak = OfChoice<"text-break">;
export type TextDelta = OfChoice<"text-delta"> & {
  readonly text: string;
  readonly literals?: Literals | undefined;
  readonly logprobs?: readonly unknown[] | undefined;
};
/**
 * The pieces of a delta's text as JSON strings without quotes, one for each frame of the upstream.
 * Writers write one frame for each, unless a stage has changed the text.
 */
export type Literals = {
  /** The whole text. */
  readonly of: string;
  readonly pieces: readonly string[];
};
/** An annotation, such as a citation, of the text so far. */
export type TextNote = OfChoice<"text-note"> & {
  readonly annotation: unknown;
};
/** `complete: false`: the message was cut off. */
export type TextEnd = OfChoice<"text-end"> & {
  readonly complete?: boolean | undefined;
  readonly extra?: Extra | undefined;
};

/** A piece of a refusal, inside a message: between its `text-start` and `text-end`. */
export type RefusalDelta = OfChoice<"refusal-delta"> & {
  readonly text: string;
};

export type ReasoningStart = OfChoice<"reasoning-start"> & {
  readonly id?: string | undefined;
};
export type ReasoningDelta = OfChoice<"reasoning-delta"> & {
  readonly text: string;
  readonly literals?: Literals | undefined;
  readonly of: "content" | "summary";
  /** The number of the paragraph in the summary or content. */
  readonly part: number;
};
export type ReasoningEnd = OfChoice<"reasoning-end"> & {
  readonly encrypted?: string | undefined;
  readonly details?: readonly unknown[] | undefined;
  readonly complete?: boolean | undefined;
  readonly extra?: Extra | undefined;
};

/**
 * Fields of an answer that the gateway does not understand, such as sound or the signature of
 * reasoning, in pieces as the upstream sent them. The end of reasoning repeats its fields as a
 * whole. Fields beside the message of a choice, or beside all choices, come whole, once for each
 * value.
 */
export type VendorExtra = OfChoice<"vendor-extra"> & {
  readonly of: "message" | "reasoning" | "choice" | "answer";
  readonly extra: Extra;
};

export type CallStart<Name extends AnyName> = OfChoice<"call-start"> & {
  /** The number of the call in its choice, from 0, without gaps. */
  readonly call: number;
  readonly id: string;
  readonly kind: string;
  readonly name: Name;
  readonly namespace?: string | undefined;
  readonly itemId?: string | undefined;
  readonly extra?: Extra | undefined;
};
export type CallDelta = OfChoice<"call-delta"> & {
  readonly call: number;
  readonly text: string;
  readonly literals?: Literals | undefined;
};
/**
 * The stream ends a call, never the fact that its arguments parse. `complete: false`: the answer
 * was cut off inside the call.
 */
export type CallEnd = OfChoice<"call-end"> & {
  readonly call: number;
  readonly complete: boolean;
};

/** Receives each call that is left out of an answer, with the length of its arguments if they were read. */
export type OnLeftOut = (
  event: CallStart<AnyName>,
  why: "withheld" | "repeated",
  chars?: number,
) => void;

/** An event of an output item of an unknown kind. `item` counts such items from 0. */
type ItemEvent<Type extends string> = {
  readonly type: Type;
  readonly choice: number;
  readonly item: number;
  /** The dialect whose form the item has. */
  readonly dialect: DialectName;
  readonly raw: Fields;
};
/** The item in its first form. */
export type ItemStart = ItemEvent<"item-start">;
/** An event of the upstream about the item. */
export type ItemNote = ItemEvent<"item-note">;
/** The item in its last form. */
export type ItemEnd = ItemEvent<"item-end">;

/** A token count. It may come anywhere; the last one counts. */
export type UsageCount = { readonly type: "usage"; readonly usage: Usage };

export type TurnEnd = OfChoice<"turn-end"> & {
  readonly stop: StopReason;
  /** Other fields of the end, such as the stop sequence. */
  readonly extra?: Extra | undefined;
};

export type TurnFail = { readonly type: "turn-fail"; readonly fault: Fault };

/** The text of the upstream that the events before this one were read from, for the straight lane. */
export type Frame = {
  readonly type: "frame";
  readonly data: string;
  /** The text of several SSE frames, with their blank lines, in place of `data` and `name`. */
  readonly run?: string | undefined;
  /** The SSE event name, if there was one. */
  readonly name?: string | undefined;
  /** True if nothing in the frame had to be repaired. */
  readonly forwardable: boolean;
  /** `terminal`: the frame ends the turn. `done`: the sentinel after that. */
  readonly ends?: "terminal" | "done" | undefined;
  /** The frame contains the answer object, and so the answer's id. */
  readonly hasAnswer?: boolean | undefined;
  /** True if the frame holds nothing but a token count. */
  readonly usageOnly?: boolean | undefined;
  /** The choices that the frame ends, set by `StreamNormalizer`, which holds their `turn-end` back. */
  readonly stops?: readonly number[] | undefined;
  readonly sequence?: number | undefined;
  /** True for a whole body that is not part of a stream. */
  readonly whole?: boolean | undefined;
};
