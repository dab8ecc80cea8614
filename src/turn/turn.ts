import type { Decision } from "./decision.ts";
import type { DialectTraits } from "./dialect-traits.ts";
import type { AnyName, ClientName } from "./names.ts";

/**
 * The name of a wire language that clients or upstreams speak. Any text: the
 * registry of dialects says which there are.
 */
export type DialectName = string;

export type Fields = Readonly<Record<string, unknown>>;

/**
 * What a dialect said that we do not understand. It is given back to the same
 * dialect untouched; crossing into another one it becomes a Decision.
 */
export type Extra = {
  readonly dialect: DialectName;
  readonly fields: Fields;
  /**
   * What bears on cost or speed, or is told in other words too: given back to the
   * same dialect as well, and no loss where another one leaves it out.
   */
  readonly hints?: Fields | undefined;
};

/**
 * One request in our words. `Name` is ClientName as the client sent it and
 * UpstreamName once planned, so the two cannot be mixed up.
 */
export type Turn<Name extends AnyName = ClientName> = {
  /** The dialect the client speaks. */
  readonly dialect: DialectName;
  readonly traits: DialectTraits;
  readonly model: string;
  readonly items: readonly Item<Name>[];
  /** Which of the client's own messages or inputs each item is of; none: as they stand here. */
  readonly places?: readonly number[] | undefined;
  readonly tools: readonly Tool<Name>[];
  readonly toolChoice?: ToolChoice<Name> | undefined;
  readonly format?: Format | undefined;
  readonly params: Params;
  readonly stream: boolean;
  /** Whether the client wants the token count at the end of a stream. */
  readonly usageWanted: boolean;
  readonly extra: Extra;
  /** What had to be mended to read it. A request that needed any is not forwarded as it stands. */
  readonly repairs?: readonly Decision[] | undefined;
  /** The request as the client sent it, never changed: what the straight lane forwards. */
  readonly body: Fields;
  /** Where in the request it is said which earlier turns the conversation begins with: their items have the place -1. */
  readonly historyPath?: string | undefined;
  /** Fields of the answer about what the gateway does itself of the request, in the client's dialect. */
  readonly gatewayFields?: Fields | undefined;
  /** What the client's dialect says in headers, for upstreams of the same dialect; names in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
};

export type Item<Name extends AnyName = ClientName> =
  | Message
  | Reasoning
  | Call<Name>
  | Result
  | Opaque;

export type Role = "system" | "developer" | "user" | "assistant";

export type Message = {
  readonly type: "message";
  readonly role: Role;
  readonly parts: readonly Part[];
  readonly id?: string | undefined;
  /** The participant's name, where a dialect has one. */
  readonly name?: string | undefined;
  /** `commentary` or `final_answer`: an assistant message's place in a long turn. */
  readonly phase?: string | undefined;
  /** True for the `instructions` field: it is replaced, not repeated, from turn to turn. */
  readonly instructions?: boolean | undefined;
  readonly status?: Status | undefined;
  readonly extra?: Extra | undefined;
};

export type Status = "in_progress" | "completed" | "incomplete";

export type Part =
  | {
      readonly type: "text";
      readonly text: string;
      /** The tools that it tells the model of, by their names, as the result of a search for tools. */
      readonly loads?: readonly string[] | undefined;
      readonly annotations?: readonly unknown[] | undefined;
      readonly logprobs?: readonly unknown[] | undefined;
      readonly extra?: Extra | undefined;
    }
  | { readonly type: "refusal"; readonly text: string }
  | {
      readonly type: "image";
      /** A URL or a data URL. */
      readonly url?: string | undefined;
      readonly fileId?: string | undefined;
      readonly detail?: string | undefined;
      readonly extra?: Extra | undefined;
    }
  | {
      readonly type: "file";
      /** A data URL or base64 text, as given. */
      readonly data?: string | undefined;
      readonly url?: string | undefined;
      readonly fileId?: string | undefined;
      readonly name?: string | undefined;
      readonly extra?: Extra | undefined;
    }
  | {
      readonly type: "audio";
      readonly data: string;
      readonly format: string;
      readonly extra?: Extra | undefined;
    }
  | { readonly type: "opaque"; readonly dialect: DialectName; readonly raw: unknown };

export type Reasoning = {
  readonly type: "reasoning";
  readonly id?: string | undefined;
  readonly summary: readonly string[];
  readonly content: readonly string[];
  /** Sealed by the model that made it; only that model can read it. */
  readonly encrypted?: string | undefined;
  /** `reasoning_details` as some chat providers send them, kept whole. */
  readonly details?: readonly unknown[] | undefined;
  readonly status?: Status | undefined;
  readonly extra?: Extra | undefined;
};

export type Call<Name extends AnyName = ClientName> = {
  readonly type: "call";
  /** What pairs a call with its result. */
  readonly id: string;
  /** `function`, `custom`, or a built-in kind such as `local_shell`. */
  readonly kind: string;
  readonly name: Name;
  readonly namespace?: string | undefined;
  /** Arguments as JSON text for a function, free text for a custom tool; always verbatim. */
  readonly input: string;
  /** The id of the item itself, which some dialects have beside the call's. */
  readonly itemId?: string | undefined;
  readonly status?: Status | undefined;
  readonly extra?: Extra | undefined;
};

export type Result = {
  readonly type: "result";
  /** The id of the call it answers. */
  readonly call: string;
  readonly kind: string;
  /** The name of the tool, where it is said with the result too. */
  readonly name?: string | undefined;
  readonly parts: readonly Part[];
  /** Whether the tool failed; the parts say why. */
  readonly isError?: boolean | undefined;
  /** The tools that it declares, as the result of a search for tools does. */
  readonly declares?: ToolDeclarations | undefined;
  readonly itemId?: string | undefined;
  readonly status?: Status | undefined;
  readonly extra?: Extra | undefined;
};

/** An item of a kind we do not know, whole. */
export type Opaque = {
  readonly type: "opaque";
  readonly dialect: DialectName;
  readonly raw: Fields;
  /** The tools that it declares: `additional_tools` and what a provider's own search has found. */
  readonly declares?: ToolDeclarations | undefined;
};

/** A list of tools in an item of the conversation; they count from there on. */
export type ToolDeclarations<Member = Tool> = {
  readonly tools: readonly Member[];
  /** Which entries of the client's list could not be read as tools, from 0. */
  readonly unreadable?: readonly number[] | undefined;
};

export type JsonSchema = boolean | Fields;

export type Tool<Name extends AnyName = ClientName> = Callable<Name> | NamespaceTool<Name>;

/** What can be called: a namespace only holds such. */
export type Callable<Name extends AnyName = ClientName> =
  | FunctionTool<Name>
  | CustomTool<Name>
  | BuiltinTool<Name>;

export type FunctionTool<Name extends AnyName = ClientName> = {
  readonly type: "function";
  readonly name: Name;
  readonly description?: string | undefined;
  readonly schema?: JsonSchema | undefined;
  readonly strict?: boolean | undefined;
  /** Not to be offered yet: the client's own search for tools has not brought it up so far. */
  readonly deferred?: boolean | undefined;
  /** A result of the conversation has brought it: it is declared so that nothing before that changes, where an upstream has a form for this. */
  readonly loaded?: boolean | undefined;
  readonly extra?: Extra | undefined;
};

/** A tool whose input is free text, perhaps under a grammar. */
export type CustomTool<Name extends AnyName = ClientName> = {
  readonly type: "custom";
  readonly name: Name;
  readonly description?: string | undefined;
  readonly format?: Fields | undefined;
  readonly extra?: Extra | undefined;
};

/** A tool the dialect knows by its kind alone: `web_search`, `local_shell`, ... */
export type BuiltinTool<Name extends AnyName = ClientName> = {
  readonly type: "builtin";
  readonly kind: string;
  readonly name: Name;
  readonly dialect: DialectName;
  readonly raw: Fields;
};

/** A named group of tools, such as one MCP server's. Its own name is never called. */
export type NamespaceTool<Name extends AnyName = ClientName> = {
  readonly type: "namespace";
  readonly name: string;
  readonly description?: string | undefined;
  readonly extra?: Extra | undefined;
} & ToolDeclarations<Callable<Name>>;

/** How a choice points at a tool. */
export type ToolRef<Name extends AnyName = ClientName> = {
  readonly kind: string;
  readonly name: Name;
  readonly namespace?: string | undefined;
};

export type ToolChoice<Name extends AnyName = ClientName> =
  | { readonly type: "auto" | "none" | "required" }
  | { readonly type: "tool"; readonly tool: ToolRef<Name> }
  | {
      readonly type: "allowed";
      readonly mode: "auto" | "required";
      readonly tools: readonly ToolRef<Name>[];
    };

export type Format =
  | { readonly type: "text" | "json" }
  | {
      readonly type: "schema";
      readonly name: string;
      readonly schema: JsonSchema;
      readonly strict?: boolean | undefined;
      readonly description?: string | undefined;
    }
  /** A format we do not know, such as a grammar; only its own dialect can say it. */
  | { readonly type: "opaque"; readonly dialect: DialectName; readonly raw: unknown };

/**
 * The scalars of a request. What each dialect calls them, and which dialect has
 * no word for one, is in the traits of the dialect.
 */
export type Params = {
  readonly maxTokens?: number | undefined;
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly topK?: number | undefined;
  readonly n?: number | undefined;
  readonly stop?: readonly string[] | undefined;
  readonly seed?: number | undefined;
  readonly presencePenalty?: number | undefined;
  readonly frequencyPenalty?: number | undefined;
  readonly logitBias?: Fields | undefined;
  /** How many alternatives per token; 0 asks for the chosen token's alone. */
  readonly logprobs?: number | undefined;
  readonly parallelCalls?: boolean | undefined;
  readonly maxCalls?: number | undefined;
  readonly effort?: string | undefined;
  /** Whether and how the model thinks, where a dialect says that apart from the effort. */
  readonly thinking?: string | undefined;
  /** How many tokens it may think at most. */
  readonly thinkingBudget?: number | undefined;
  readonly reasoningSummary?: string | undefined;
  readonly verbosity?: string | undefined;
  readonly serviceTier?: string | undefined;
  readonly store?: boolean | undefined;
  readonly metadata?: Fields | undefined;
  readonly user?: string | undefined;
  readonly safetyIdentifier?: string | undefined;
  readonly cacheKey?: string | undefined;
  readonly cacheRetention?: string | undefined;
  readonly include?: readonly string[] | undefined;
  readonly truncation?: string | undefined;
  readonly modalities?: readonly string[] | undefined;
  readonly audio?: Fields | undefined;
  readonly prediction?: Fields | undefined;
  readonly webSearch?: Fields | undefined;
  readonly previousResponse?: string | undefined;
  readonly conversation?: unknown;
  readonly background?: boolean | undefined;
  readonly prompt?: Fields | undefined;
  /** A conversation that the provider keeps, of which the request holds only what is new. */
  readonly thread?: Fields | undefined;
  /** Asks for a summary of the conversation in place of an answer. */
  readonly compaction?: Fields | undefined;
};
