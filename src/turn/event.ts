/** The events of a turn, and the rules that every stream of them keeps. */

import type { Fault } from "./fault.ts";
import type { AnyName } from "./names.ts";
import type { DialectName, Extra, Fields } from "./turn.ts";

/**
 * `calls`: the model waits for results. `filter`: the provider stopped it.
 * `pause`: the provider let go of a long turn, and goes on where it is sent its
 * own answer back.
 */
export type StopReason = "end" | "calls" | "length" | "filter" | "pause";

/** Whether more would have come. */
export const isCut = (stop: StopReason): boolean => stop !== "end" && stop !== "calls";

export type Usage = {
  readonly input: number;
  readonly output: number;
  readonly total: number;
  /** Of the input: read from a cache, and written to one. */
  readonly cached?: number | undefined;
  readonly cacheWrite?: number | undefined;
  readonly reasoning?: number | undefined;
  /** What else the upstream counted, such as the searches it made. */
  readonly extra?: Extra | undefined;
  /** Some of it is an estimate: an upstream did not count all that it was sent and said. */
  readonly estimated?: true | undefined;
};

/** The counts of two upstream calls together; what only one of them counted is that one's. */
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
 * What a turn says while it runs. What belongs to one of `n` answers carries its
 * `choice`; the start, the count, a failure and frames are the whole turn's.
 *
 * A reader may leave out starts and ends it was not told of; the `StreamNormalizer` stage
 * adds them. After it: a block is opened before its deltas and closed once, all
 * blocks are closed before their choice's `turn-end`, and the stream holds
 * either one `turn-end` for each choice or, last, one `turn-fail`.
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

export type TurnStart = {
  readonly type: "turn-start";
  /** The dialect the upstream speaks: whose ids and extras these are. */
  readonly dialect?: DialectName | undefined;
  readonly id?: string | undefined;
  readonly model?: string | undefined;
  /** Seconds since the epoch, as the upstream said. */
  readonly created?: number | undefined;
  /** What else the upstream said of the answer as a whole. */
  readonly extra?: Fields | undefined;
};

/** Opens a message; its text and refusals follow. */
export type TextStart = {
  readonly type: "text-start";
  readonly choice: number;
  /** The upstream's id of the message. */
  readonly id?: string | undefined;
  readonly phase?: string | undefined;
};
/** The text goes on in a new part of the same message. */
export type TextBreak = { readonly type: "text-break"; readonly choice: number };
export type TextDelta = {
  readonly type: "text-delta";
  readonly choice: number;
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
export type TextNote = {
  readonly type: "text-note";
  readonly choice: number;
  readonly annotation: unknown;
};
/** `complete: false`: the message was cut off. */
export type TextEnd = {
  readonly type: "text-end";
  readonly choice: number;
  readonly complete?: boolean | undefined;
  readonly extra?: Extra | undefined;
};

/** A refusal stands in a message, between its `text-start` and `text-end`. */
export type RefusalDelta = {
  readonly type: "refusal-delta";
  readonly choice: number;
  readonly text: string;
};

export type ReasoningStart = {
  readonly type: "reasoning-start";
  readonly choice: number;
  readonly id?: string | undefined;
};
export type ReasoningDelta = {
  readonly type: "reasoning-delta";
  readonly choice: number;
  readonly text: string;
  readonly literals?: Literals | undefined;
  readonly of: "content" | "summary";
  /** Which paragraph of the summary or content. */
  readonly part: number;
};
export type ReasoningEnd = {
  readonly type: "reasoning-end";
  readonly choice: number;
  readonly encrypted?: string | undefined;
  readonly details?: readonly unknown[] | undefined;
  readonly complete?: boolean | undefined;
  readonly extra?: Extra | undefined;
};

/**
 * What a dialect says with an answer and we do not understand, such as sound or
 * the signature of a thought: a piece of it, as it came. That of reasoning is
 * told once more with its end, as a whole. What stands beside the message of a
 * choice, or beside all choices, comes whole, and once for each of its values.
 */
export type VendorExtra = {
  readonly type: "vendor-extra";
  readonly choice: number;
  readonly of: "message" | "reasoning" | "choice" | "answer";
  readonly extra: Extra;
};

export type CallStart<Name extends AnyName> = {
  readonly type: "call-start";
  readonly choice: number;
  /** Which call of the choice, from 0, without gaps. */
  readonly call: number;
  readonly id: string;
  readonly kind: string;
  readonly name: Name;
  readonly namespace?: string | undefined;
  readonly itemId?: string | undefined;
  readonly extra?: Extra | undefined;
};
export type CallDelta = {
  readonly type: "call-delta";
  readonly choice: number;
  readonly call: number;
  readonly text: string;
  readonly literals?: Literals | undefined;
};
/**
 * A call is finished by the stream, never because its arguments parse.
 * `complete: false`: the upstream was cut off in the middle of it.
 */
export type CallEnd = {
  readonly type: "call-end";
  readonly choice: number;
  readonly call: number;
  readonly complete: boolean;
};

/** Is told of a call that is left out of an answer, and of how many characters its arguments had, where they were read. */
export type OnLeftOut = (
  event: CallStart<AnyName>,
  why: "withheld" | "repeated",
  chars?: number,
) => void;

/** An output item of a kind we do not know, as first seen. `item` counts them from 0. */
export type ItemStart = {
  readonly type: "item-start";
  readonly choice: number;
  readonly item: number;
  /** The dialect whose form the item has. */
  readonly dialect: DialectName;
  readonly raw: Fields;
};
/** An event about such an item, as the upstream sent it. */
export type ItemNote = {
  readonly type: "item-note";
  readonly choice: number;
  readonly item: number;
  readonly dialect: DialectName;
  readonly raw: Fields;
};
export type ItemEnd = {
  readonly type: "item-end";
  readonly choice: number;
  readonly item: number;
  readonly dialect: DialectName;
  readonly raw: Fields;
};

/** May come anywhere; the last one counts. */
export type UsageCount = { readonly type: "usage"; readonly usage: Usage };

export type TurnEnd = {
  readonly type: "turn-end";
  readonly choice: number;
  readonly stop: StopReason;
  /** What else the upstream said of the end, such as the stop sequence. */
  readonly extra?: Extra | undefined;
};

export type TurnFail = { readonly type: "turn-fail"; readonly fault: Fault };

/**
 * What the upstream sent to say the events before this one, for the straight
 * lane. A frame is regular when nothing in it had to be repaired.
 */
export type Frame = {
  readonly type: "frame";
  readonly data: string;
  /** Text of several SSE frames in place of `data` and `name`, with their blank lines. */
  readonly run?: string | undefined;
  /** The SSE event name, if there was one. */
  readonly name?: string | undefined;
  readonly forwardable: boolean;
  /** `terminal`: the turn is over after it. `done`: the sentinel behind it. */
  readonly ends?: "terminal" | "done" | undefined;
  /** The frame contains the answer object, and so the answer's id. */
  readonly hasAnswer?: boolean | undefined;
  /** It only counts tokens. */
  readonly usageOnly?: boolean | undefined;
  /** The choices whose end it said: noted by `StreamNormalizer`, which holds their `turn-end` back. */
  readonly stops?: readonly number[] | undefined;
  readonly sequence?: number | undefined;
  /** It is a whole body and not part of a stream. */
  readonly whole?: boolean | undefined;
};
