import type { Answer } from "../stream/fold.ts";
import type { Emit } from "../stream/stage.ts";
import type { EventWriter } from "../stream/straight.ts";
import type { NewId } from "../turn/clock.ts";
import type { Decision, OnDecision } from "../turn/decision.ts";
import type { DialectTraits } from "../turn/dialect-traits.ts";
import type { TurnEvent, Usage } from "../turn/event.ts";
import type { Fault } from "../turn/fault.ts";
import type { ClientName, UpstreamName } from "../turn/names.ts";
import type { RateLimits } from "../turn/rate-limit.ts";
import type { Profile } from "../turn/profile.ts";
import type { SharedText } from "../turn/shared-text.ts";
import type { DialectName, Fields, Item, Opaque, Turn } from "../turn/turn.ts";

/**
 * A wire language. The half that clients speak and the half that upstreams speak
 * are apart: a dialect may have one of them alone. All of it is pure.
 */
export type Dialect = {
  readonly name: DialectName;
  /** Its name for people. */
  readonly title: string;
  readonly traits: DialectTraits;
  readonly door?: DoorDialect | undefined;
  readonly upstream?: UpstreamDialect | undefined;
};

/** What a route found in the path of a request, such as the model. */
export type PathParams = Readonly<Record<string, string>>;

/** How clients of a dialect are served. */
export type DoorDialect = {
  /** Paths that take its requests by POST. `{model}` stands for a part of the path, slashes included. */
  readonly routes: readonly string[];
  /** Whether a body has the form of its requests, where no path tells. */
  isRequest(body: Fields): boolean;
  /** For a dialect whose requests may refer to items of earlier answers. */
  readonly references?: References | undefined;
  /** For a dialect whose clients may leave their conversation with the server and send only what is new. */
  readonly threads?: ThreadForm | undefined;
  /** For a dialect whose answers are kept, to be retrieved and continued. */
  readonly storage?: StorageForm | undefined;
  /** For a dialect whose answers may be made while nobody waits. */
  readonly background?: BackgroundForm | undefined;
  /** Throws a Fault that names the field. */
  readRequest(body: Fields, path?: PathParams, headers?: RequestHeaders): Turn;
  /** An id for an answer whose upstream gave none that a client of this dialect may see. */
  newAnswerId(newId: NewId): string;
  /** Writes a stream, its failure included. */
  writeEvents(turn: Turn, context: WriteContext): EventWriter<ClientName>;
  /** What a stream says in a long silence, where its clients expect more than a comment now and then. */
  readonly ping?: string | undefined;
  /** What ends every stream, behind its last event; empty where nothing does. */
  readonly endMarker: string;
  /** The body of a non-stream answer; never called with a failed one. */
  writeAnswer(answer: Answer<ClientName>, turn: Turn, context: WriteContext): string;
  /** The body of a refused request. */
  readonly writeError: (fault: Fault, requestId?: string) => string;
  /** The path that tells by POST how many tokens a request has, and the body of the answer. */
  readonly tokenCount?: TokenCountForm | undefined;
  /** For a dialect whose answers are kept where a request asks for that. */
  readonly completions?: CompletionForm | undefined;
  /** For a dialect whose clients may have a conversation compacted. */
  readonly compaction?: CompactionForm | undefined;
  /** For a dialect whose requests may also come as messages on a WebSocket, on the paths of `routes`. */
  readonly socket?: SocketForm | undefined;
  /** Where its clients look for the id of a request, where that is not `x-request-id`. */
  readonly requestIdHeader?: string | undefined;
  /** What is left of the client's limits, in the headers that its clients read; `now`: milliseconds since the epoch. */
  readonly rateLimitHeaders?: (limits: RateLimits, now: number) => Readonly<Record<string, string>>;
};

/** By name in lower case. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

export type TokenCountForm = {
  readonly route: string;
  body(tokens: number): Fields;
};

export type CompletionForm = {
  /** The path that takes requests, and below which answers are found by their ids. */
  readonly route: string;
  /** How the ids of answers begin. */
  readonly prefix: string;
  isWanted(turn: Turn): boolean;
  /** An answer as it is kept, of its body and that of the request. */
  completionIn(text: string, body: Fields): Fields | undefined;
  /** The messages of a request, each with an id. */
  messagesIn(body: Fields, id: string): readonly KeptItem[];
};

export type CompactionForm = {
  /** The path that takes a conversation by POST. */
  readonly route: string;
  /** The turn that asks the model for a summary of the conversation in a turn. */
  ask(turn: Turn): Turn;
  /** What is sealed in an item that stands for a conversation. */
  sealIn(item: Opaque): string | undefined;
  /** What the model is shown of it. */
  opened(summary: string): Item;
  writeAnswer(answer: CompactedTurn): string;
};

/** A conversation that has been compacted. */
export type CompactedTurn = {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number;
  readonly turn: Turn;
  /** The summary, sealed. */
  readonly seal: string;
  readonly usage: Usage;
  readonly newId: NewId;
};

export type SocketForm = {
  /** What a message asks for. Throws a Fault that names the field. */
  readMessage(message: Fields): SocketRequest;
};

export type SocketRequest = {
  /** The request as it would be posted. */
  readonly body: Fields;
  /** False: the request is only made ready, to be continued later; the model is not asked. */
  readonly generates: boolean;
};

/** How upstreams of a dialect are asked. */
export type UpstreamDialect = {
  /** Below the base URL. */
  path(request: RequestLine): string;
  /** What a key is sent as; names in lower case. */
  headers(apiKey: string | undefined): Readonly<Record<string, string>>;
  writeRequest(turn: Turn<UpstreamName>, to: Target): Written;
  readEvents(context: ReadContext): EventReader;
  /** How upstreams of the dialect are asked for the number of a request's tokens, where their profile says that they can be. */
  readonly tokenCount?: UpstreamTokenCount | undefined;
  /** Whether its reader emits `frame` events where it is asked to: only then are answers forwarded as they are. */
  readonly emitsFrames?: boolean | undefined;
  /** What any upstream of the dialect is taken for where no profile is named and no built-in one is generic. */
  readonly profile?: Profile | undefined;
};

export type UpstreamTokenCount = {
  /** Below the base URL. */
  readonly path: string;
  /** What a request tells of itself to be counted: without what only an answer needs. */
  readonly fields: readonly string[];
};

/** What the path of a request may depend on. */
export type RequestLine = {
  /** The model's name at the upstream. */
  readonly model: string;
  readonly stream: boolean;
};

/**
 * Items that a request refers to by their ids instead of sending them.
 * `areBareToo`: an item that says nothing but its id counts as a reference, since
 * an upstream that keeps its items takes it for one.
 */
export type References = {
  /** The id of every reference, as often as it is there. */
  idsIn(body: Fields, areBareToo: boolean): readonly string[];
  /** The body with the items in place of the references to them, and without references to others. */
  resolve(
    body: Fields,
    items: ReadonlyMap<string, { readonly json: string }>,
    areBareToo: boolean,
  ): { readonly body: Fields; readonly missing: readonly MissingItem[] };
};

/** An item that a request refers to and that is not there; `isIdle`: a model can do without it. */
export type MissingItem = { readonly id: string; readonly isIdle: boolean };

/** A conversation that is kept between requests: each of them sends only what is new. */
export type ThreadForm = {
  /** What a request asks for; undefined: it is a conversation of its own. Throws a Fault that names the field. */
  askedIn(body: Fields): AskedThread | undefined;
  /** What a request adds to the conversation, each item as JSON. */
  inputOf(body: Fields): readonly string[];
  /** What only the first request of a thread says, such as its tools. */
  headOf(body: Fields): Fields;
  /** The item that an answer adds, as JSON; `text` is the body that `writeAnswer` made of it. */
  answerItem(text: string): string;
  /** The request as it would be if the client had kept the conversation. `items`: what was kept. */
  wholeOf(
    body: Fields,
    kept: { readonly head: Fields; readonly items: readonly unknown[] },
  ): Fields;
  /** The same for one that begins a conversation. */
  withoutThread(body: Fields): Fields;
};

export type AskedThread =
  | { readonly type: "create" }
  | { readonly type: "continue"; readonly previous: string };

/** How the answers of a dialect are kept, and what of a request is kept with them. */
export type StorageForm = {
  /** The path below which answers are found by their ids. */
  readonly route?: string | undefined;
  /** Whether what is kept is an answer of this dialect. */
  isOwn(json: string): boolean;
  /** Whether the answer to a request is to be kept. */
  isWanted(turn: Turn): boolean;
  /** The id of the answer that a request continues. */
  previousIn(body: Fields): string | undefined;
  /** What a request itself adds to the conversation; every item has an id. */
  inputOf(body: Fields, newId: NewId): readonly KeptItem[];
  /** Kept items as a request would have them. */
  readItems(items: readonly unknown[]): readonly Item[];
  /** The answer in the body, or in the last event of a stream, that an upstream of this dialect sent. */
  answerIn(text: string): KeptAnswer | undefined;
  /** Replaces the upstream's ids in its body or event; undefined if the answer's id is not at the place where the API writes it. */
  relabel(text: string, ids: ShownIds): string | undefined;
  /** The body that shows a kept answer. */
  shownAnswer(answer: {
    readonly json: string;
    readonly shared?: SharedText | undefined;
    readonly items: readonly string[];
  }): string;
  /** A kept item as a list of input shows it. */
  readonly shownItem: (item: Fields) => Fields;
  readonly conversations?: ConversationForm | undefined;
};

/** The ids that replace the upstream's in a stored answer. */
export type ShownIds = {
  readonly id: string;
  /** The id of the answer that it continues, if the upstream was sent an id of its own for it. */
  readonly previous?: string | undefined;
};

/** How requests of a dialect belong to conversations that are kept here. */
export type ConversationForm = {
  /** The path below which conversations are found by their ids. */
  readonly route: string;
  /** The id of the conversation that a request belongs to. Throws a Fault that names the field. */
  idIn(body: Fields): string | undefined;
  /** The request without it. */
  without(body: Fields): Fields;
};

/** Answers that are made in the background. */
export type BackgroundForm = {
  /** An answer that has not begun: as its client is told of it, and as it is kept. */
  begun(
    turn: Turn,
    context: WriteContext,
  ): { readonly shown: string; readonly kept: Omit<KeptAnswer, "items"> };
  /** What a kept answer says of itself. */
  stateOf(json: string): { readonly isBackground: boolean; readonly isOver: boolean };
  /** A kept answer of which no more will come. */
  failed(json: string, fault: Fault): string;
  /** The event that ends the stream of an answer, which is given as it is shown. */
  lastFrame(shown: string, sequence: number): string;
  /** The number of an event. */
  sequenceIn(frame: string): number | undefined;
  /** Whether an event ends the stream. */
  isLast(frame: string): boolean;
};

export type KeptItem = {
  readonly id: string;
  readonly json: string;
  /** Of an item of a request whose id was made for it: the group of `itemIds`. Its JSON begins with the id and has no line break. */
  readonly group?: string | undefined;
};

/** An answer: its items, what it shares with others, and the rest of it as JSON. */
export type KeptAnswer = {
  readonly json: string;
  /** What other answers have word for word. */
  readonly shared?: SharedText | undefined;
  readonly items: readonly KeptItem[];
};

/** What a request is written for: one model of an upstream. */
export type Target = {
  /** What the upstream can do with that model: the profile that the turn was planned for. */
  readonly profile: Profile;
  /** The model's name at the upstream. */
  readonly model: string;
  /** Forward the client's own body, and emit `frame` events: same dialect, and nothing planned to change. */
  readonly straight: boolean;
};

/** A request body as JSON text, and what it could not say. */
export type Written = {
  readonly text: string;
  readonly decisions: readonly Decision[];
  /** What else goes into the head of the request; names in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
};

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
  /**
   * Reads frames that repeat the shape of the one before from `text`, which holds SSE frames, from
   * `at` on. Returns where the next frame begins: `at` if it read none.
   */
  run?(text: string, at: number, emit: Emit<TurnEvent<UpstreamName>>): number;
  /** An answer that came as one JSON body. */
  whole(text: string, emit: Emit<TurnEvent<UpstreamName>>): void;
  /** Nothing more can come: emits what was held back for more to follow. */
  end?(emit: Emit<TurnEvent<UpstreamName>>): void;
  /** Whether the answer is over: whatever follows is noise. */
  done(): boolean;
};

export type WriteContext = {
  /** The id of the answer, unless the client is shown the upstream's. A stored answer always has this id. */
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number;
  /** Seconds since the epoch, asked when the answer is over. */
  now(): number;
  readonly newId: NewId;
  /** What a stream says behind the end of its choices and before counts and sentinel; may be nothing. */
  readonly closingComment?: (() => string) | undefined;
  /** Hears what of the answer could not be written. */
  readonly report?: OnDecision | undefined;
  /** Hears of every item of the answer that a client may refer to, as JSON. */
  readonly keep?: ((id: string, json: string) => void) | undefined;
  /** Hears of the answer as a whole when it is over, as JSON: all of it but its items and what is stored once for many. */
  readonly record?: ((json: string, shared?: SharedText) => void) | undefined;
};
