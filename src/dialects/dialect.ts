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
 * A wire language. `door` serves clients and `upstream` asks models; a dialect may have only one of
 * them. All functions are pure.
 */
export type Dialect = {
  readonly name: DialectName;
  /** The name shown to people. */
  readonly title: string;
  readonly traits: DialectTraits;
  readonly door?: DoorDialect | undefined;
  readonly upstream?: UpstreamDialect | undefined;
};

/** Parameters from the path of a request, such as the model; `?` has the whole query, if there is one. */
export type PathParams = Readonly<Record<string, string>>;

/** Serves the clients of a dialect. */
export type DoorDialect = {
  /**
   * Paths that take its requests by POST. `{model}` stands for a part of the path, slashes included,
   * and `{kind=a|b}` for one of these words.
   */
  readonly routes: readonly string[];
  /** True if a body has the form of its requests, for paths that take any dialect. */
  isRequest(body: Fields): boolean;
  /** For a dialect whose answers or conversations the gateway stores. */
  readonly history?: HistoryForm | undefined;
  /** Throws a Fault that names the field. */
  readRequest(body: Fields, path?: PathParams, headers?: RequestHeaders): Turn;
  /** Makes an id for an answer whose upstream gave none that clients of this dialect may see. */
  newAnswerId(newId: NewId): string;
  /** Writes a stream, its failure included. */
  writeEvents(turn: Turn, context: WriteContext): EventWriter<ClientName>;
  /** The event of a stream in a long silence, for clients that need more than a comment. */
  readonly ping?: string | undefined;
  /** The text after the last event of every stream; may be empty. */
  readonly endMarker: string;
  /** For a dialect whose streams have no comments, and break off the connection of a failed one. */
  readonly streams?: { contentType(turn: Turn): string } | undefined;
  /** The body of a non-stream answer; never called with a failed one. */
  writeAnswer(answer: Answer<ClientName>, turn: Turn, context: WriteContext): string;
  /** The body of a refused request. */
  readonly writeError: (fault: Fault, requestId?: string) => string;
  /** For a dialect whose clients may ask for the number of tokens of a request, by POST to `routes`. */
  readonly tokenCount?:
    | { readonly routes: readonly string[]; body(tokens: number): Fields }
    | undefined;
  /** For a dialect with its own routes and form for the list of models. */
  readonly models?: ModelListForm | undefined;
  /** The beginnings of paths that its clients may ask for although they are not served; `advice` names what is served, without a full stop. */
  readonly unknownPaths?:
    | { readonly prefixes: readonly string[]; readonly advice: string }
    | undefined;
  /** For a dialect whose requests may also come as messages on a WebSocket, on the paths of `routes`. */
  readonly socket?: SocketForm | undefined;
  /** The header in which its clients find the id of a request, if that is not `x-request-id`. */
  readonly requestIdHeader?: string | undefined;
  /** The rest of the client's limits, in the headers that its clients read; `now`: milliseconds since the epoch. */
  readonly rateLimitHeaders?: (limits: RateLimits, now: number) => Readonly<Record<string, string>>;
};

/** The names are in lower case. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

export type ModelListForm = {
  /** The paths of the list; a model is below them by its name. */
  readonly routes: readonly string[];
  /** Headers that only its clients send: they get its form on the paths of all clients too. */
  readonly headers?: readonly string[] | undefined;
  /** A page of the list, as the query asks for it. */
  page(names: readonly string[], query: string): Fields;
  model(name: string): Fields;
};

export type SocketForm = {
  /** Reads a message. Throws a Fault that names the field. */
  readMessage(message: Fields): SocketRequest;
};

export type SocketRequest = {
  /** The request as an HTTP client would post it. */
  readonly body: Fields;
  /** False: the request is only prepared, to be continued later; the model is not asked. */
  readonly generates: boolean;
};

/** Asks the upstreams of a dialect. */
export type UpstreamDialect = {
  /** The path below the base URL. */
  path(request: RequestLine): string;
  /** The headers that carry a key; names in lower case. */
  headers(apiKey: string | undefined): Readonly<Record<string, string>>;
  writeRequest(turn: Turn<UpstreamName>, to: Target): WrittenRequest;
  /** Corrects the profile of an upstream by its refusal; undefined if the same request would be refused again. */
  correct?(refusal: string, profile: Profile): Correction | undefined;
  readEvents(context: ReadContext): EventReader;
  /** Asks for the number of a request's tokens, for upstreams whose profile has such a route. */
  readonly tokenCount?: UpstreamTokenCount | undefined;
  /** True if its reader can emit `frame` events: only then are answers forwarded unchanged. */
  readonly emitsFrames?: boolean | undefined;
  /** The profile of upstreams that name none, for a dialect without a generic built-in profile. */
  readonly profile?: Profile | undefined;
};

/** `lasts`: it also concerns later requests. `reason`: the difference of the corrected request. */
export type Correction = {
  readonly profile: Profile;
  readonly lasts: boolean;
  readonly reason: string;
};

export type UpstreamTokenCount = {
  /** The path below the base URL, with the upstream's model name in place of `{model}`. */
  readonly path: string;
  /** The fields of a request that are counted; others matter only to the answer. */
  readonly fields: readonly string[];
  /** Makes the body of the question of them, if it has another form. */
  wrap?(fields: Fields, model: string): Fields;
  /** The field of the answer with the number; `input_tokens` if it is not named. */
  readonly field?: string | undefined;
};

/** The parts of a request that its path may depend on. */
export type RequestLine = {
  /** The model's name at the upstream. */
  readonly model: string;
  readonly stream: boolean;
};

/** The form in which a dialect's clients leave answers and conversations with the server. */
export type HistoryForm = AnswerForm | ThreadForm | CompletionForm;

/** Answers that are stored with the input of their requests, to be retrieved, continued and referred to. */
export type AnswerForm = {
  readonly type: "answers";
  /** Answers are below this path by their ids. */
  readonly route: string;
  /** True if kept JSON is an answer of this dialect. */
  isOwn(json: string): boolean;
  /** True if the answer to a request is to be kept. */
  isWanted(turn: Turn): boolean;
  /** The id of the answer that a request continues. */
  previousIn(body: Fields): string | undefined;
  /** The items that a request adds to the conversation; each has an id. */
  inputOf(body: Fields, newId: NewId): readonly KeptItem[];
  /** Reads kept items as a request would have them. */
  readItems(items: readonly unknown[]): readonly Item[];
  /** Finds the answer in the body, or in the last event of a stream, of an upstream of this dialect. */
  answerIn(text: string): KeptAnswer | undefined;
  /**
   * Replaces the upstream's ids in its body or event; undefined if the answer's id is not at the place
   * where the API writes it. `previous`: the id of the answer that it continues, if the upstream was
   * sent another.
   */
  relabel(
    text: string,
    ids: { readonly id: string; readonly previous?: string | undefined },
  ): string | undefined;
  /** The body that shows a kept answer. */
  shownAnswer(answer: {
    readonly json: string;
    readonly shared?: SharedText | undefined;
    readonly items: readonly string[];
  }): string;
  /** A kept item as a list of input shows it. */
  readonly shownItem: (item: Fields) => Fields;
  readonly references: References;
  readonly conversations: ConversationForm;
  readonly background: BackgroundForm;
  readonly compaction: CompactionForm;
};

/**
 * Items that a request refers to by their ids instead of sending them. `areBareToo`: an item with
 * nothing but its id counts as a reference too, as it does at an upstream that keeps its items.
 */
export type References = {
  /** The id of every reference, repeated ones included. */
  idsIn(body: Fields, areBareToo: boolean): readonly string[];
  /** Replaces references by their items, and removes references to items that are missing. */
  resolve(
    body: Fields,
    items: ReadonlyMap<string, { readonly json: string }>,
    areBareToo: boolean,
  ): { readonly body: Fields; readonly missing: readonly MissingItem[] };
};

/** A missing item that a request refers to; `isIdle`: a model does not need it. */
export type MissingItem = { readonly id: string; readonly isIdle: boolean };

/** Conversations that are kept here, as requests of a dialect name them. */
export type ConversationForm = {
  /** Conversations are below this path by their ids. */
  readonly route: string;
  /** The id of the conversation that a request belongs to. Throws a Fault that names the field. */
  idIn(body: Fields): string | undefined;
  /** The request without it. */
  without(body: Fields): Fields;
};

/** Answers that are made in the background. */
export type BackgroundForm = {
  /** An answer that has not begun, as its client sees it and as it is kept. */
  begun(
    turn: Turn,
    context: WriteContext,
  ): { readonly shown: string; readonly kept: Omit<KeptAnswer, "items"> };
  /** The state in a kept answer. */
  stateOf(json: string): { readonly isBackground: boolean; readonly isOver: boolean };
  /** Marks a kept answer as failed. */
  failed(json: string, fault: Fault): string;
  /** The event that ends the stream of an answer; `shown` is the answer as its client sees it. */
  lastFrame(shown: string, sequence: number): string;
  /** The sequence number of an event. */
  sequenceIn(frame: string): number | undefined;
  /** True if an event ends the stream. */
  isLast(frame: string): boolean;
};

/** Conversations that a summary replaces. */
export type CompactionForm = {
  /** The path that takes a conversation by POST. */
  readonly route: string;
  /** Makes the turn that asks the model for a summary of a conversation. */
  ask(turn: Turn): Turn;
  /** The sealed text in an item that replaces a conversation. */
  sealIn(item: Opaque): string | undefined;
  /** The item that the model gets in its place. */
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

/** Conversations that are stored between requests, each of which sends only new items. */
export type ThreadForm = {
  readonly type: "threads";
  /** The thread that a request asks for; undefined if it brings its whole conversation. Throws a Fault that names the field. */
  askedIn(body: Fields): AskedThread | undefined;
  /** The items that a request adds to the conversation, as JSON. */
  inputOf(body: Fields): readonly string[];
  /** The fields that only the first request of a thread has, such as its tools. */
  headOf(body: Fields): Fields;
  /** The item that an answer adds, as JSON; `text` is the body from `writeAnswer`. */
  answerItem(text: string): string;
  /** Makes the request that sends the whole conversation; `kept` has its earlier part. */
  wholeOf(
    body: Fields,
    kept: { readonly head: Fields; readonly items: readonly unknown[] },
  ): Fields;
  /** The same for a request that begins a conversation. */
  withoutThread(body: Fields): Fields;
};

export type AskedThread =
  | { readonly type: "create" }
  | { readonly type: "continue"; readonly previous: string };

/** Answers that are stored if their requests ask for it, to be listed and retrieved. */
export type CompletionForm = {
  readonly type: "completions";
  /** The path that takes requests; answers are below it by their ids. */
  readonly route: string;
  /** The first characters of the ids of answers. */
  readonly prefix: string;
  isWanted(turn: Turn): boolean;
  /** Makes the answer to keep from its body and that of the request. */
  completionIn(text: string, body: Fields): Fields | undefined;
  /** The messages of a request, each with an id. */
  messagesIn(body: Fields, id: string): readonly KeptItem[];
};

export type KeptItem = {
  readonly id: string;
  readonly json: string;
  /** The group of `itemIds`, for an item of a request whose id was made here. Its JSON begins with the id and has no line break. */
  readonly group?: string | undefined;
};

/** An answer: its items, the text that it shares with others, and the rest of it as JSON. */
export type KeptAnswer = {
  readonly json: string;
  /** The text that other answers have in common with this one. */
  readonly shared?: SharedText | undefined;
  readonly items: readonly KeptItem[];
};

/** The model of an upstream that a request is written for. */
export type Target = {
  /** The profile that the turn was planned for. */
  readonly profile: Profile;
  /** The model's name at the upstream. */
  readonly model: string;
  /** True to forward the client's own body: the dialect is the same, and the plan changes nothing. */
  readonly straight: boolean;
};

/** A request body as JSON text, and the parts of the turn that it has no form for. */
export type WrittenRequest = {
  readonly text: string;
  readonly decisions: readonly Decision[];
  /** Further headers of the request; names in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
};

export type ReadContext = {
  readonly newId: NewId;
  /** True to emit `frame` events too, for the straight lane. */
  readonly frames: boolean;
  /** The number of choices that the upstream was asked for. */
  readonly asked?: number | undefined;
  /** True if the upstream will be asked again after an answer without content, which clients take for the end. */
  readonly retriesBlank?: boolean | undefined;
  /** Receives a decision for each part of the answer that is odd. */
  readonly report?: OnDecision | undefined;
};

/** Reads one upstream answer. Never throws: an answer that cannot be read ends in `turn-fail`. */
export type EventReader = {
  /** Reads one SSE frame; `partial`: the end of the connection truncated it. */
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
  /** Reads an answer that came as one JSON body. */
  whole(text: string, emit: Emit<TurnEvent<UpstreamName>>): void;
  /** Emits the events that waited for a later frame, at the end of the stream. */
  end?(emit: Emit<TurnEvent<UpstreamName>>): void;
  /** True if the answer has ended: later frames are noise. */
  done(): boolean;
};

export type WriteContext = {
  /** The id of the answer, unless the client is shown the upstream's. A stored answer always has this id. */
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number;
  /** Seconds since the epoch, at the end of the answer. */
  now(): number;
  readonly newId: NewId;
  /** The comment of a stream between the end of its choices and its counts; may be empty. */
  readonly closingComment?: (() => string) | undefined;
  /** Receives a decision for each part of the answer that could not be written. */
  readonly report?: OnDecision | undefined;
  /** Receives every item of the answer that a client may refer to, as JSON. */
  readonly keep?: ((id: string, json: string) => void) | undefined;
  /** Receives the whole answer at its end, as JSON, without its items and the text that many answers share. */
  readonly record?: ((json: string, shared?: SharedText) => void) | undefined;
};
