import type { Answer } from "../stream/fold.ts";
import type { Emit } from "../stream/stage.ts";
import type { EventWriter } from "../stream/straight.ts";
import type { NewId } from "../turn/clock.ts";
import type { Decision, OnDecision } from "../turn/decision.ts";
import type { TurnEvent } from "../turn/event.ts";
import type { ClientName, UpstreamName } from "../turn/names.ts";
import type { Profile } from "../turn/profile.ts";
import type { DialectName, Fields, Turn } from "../turn/turn.ts";

/** A wire language, both ways on both sides. All of it is pure. */
export type Dialect = {
  readonly name: DialectName;
  /** Whether a stream tells the end of each call when it comes, and not only that of the whole answer. */
  readonly endsCalls: boolean;
  /** How many choices an answer has room for. */
  readonly choices: number;
  /** Throws a Fault that names the field. */
  readRequest(body: Fields): Turn;
  writeRequest(turn: Turn<UpstreamName>, to: Target): Written;
  readEvents(context: ReadContext): EventReader;
  writeEvents(turn: Turn, context: WriteContext): EventWriter<ClientName>;
  /** The body of a non-stream answer; never called with a failed one. */
  writeAnswer(answer: Answer<ClientName>, turn: Turn, context: WriteContext): string;
};

export type Target = {
  readonly profile: Profile;
  /** The model's name at the upstream. */
  readonly model: string;
  /** Forward the client's own body: same dialect, and nothing planned to change. */
  readonly straight: boolean;
};

/** A request body as JSON text, and what it could not say. */
export type Written = { readonly text: string; readonly decisions: readonly Decision[] };

export type ReadContext = {
  readonly newId: NewId;
  /** Whether to say `frame` events too, for the straight lane. */
  readonly frames: boolean;
  /** How many choices the upstream was asked for. */
  readonly asked?: number | undefined;
};

/** Reads one upstream answer. Never throws: what cannot be read is a `turn-fail`. */
export type EventReader = {
  /** One SSE frame. */
  frame(
    data: string,
    name: string | undefined,
    partial: boolean,
    emit: Emit<TurnEvent<UpstreamName>>,
  ): void;
  /** An answer that came as one JSON body. */
  whole(text: string, emit: Emit<TurnEvent<UpstreamName>>): void;
  /** Nothing more can come: says what waited for more to be said of it. */
  end?(emit: Emit<TurnEvent<UpstreamName>>): void;
  /** The upstream has said all it will: whatever follows is noise. */
  done(): boolean;
};

export type WriteContext = {
  /** The id of the answer, where the upstream's own cannot be shown. */
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number;
  /** Seconds since the epoch, asked when the answer is over. */
  now(): number;
  readonly newId: NewId;
  /** What a stream says behind the end of its choices and before counts and sentinel; may be nothing. */
  readonly lastWords?: (() => string) | undefined;
  /** Hears what of the answer could not be written. */
  readonly report?: OnDecision | undefined;
  /** Hears of every item of the answer that a client may refer to, and how long it is in writing. */
  readonly keep?: ((id: string, item: Fields, length: number) => void) | undefined;
};
