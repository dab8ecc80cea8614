import type { Decision } from "./decision.ts";
import type { DialectTraits } from "./dialect-traits.ts";
import type { AnyName, ClientName } from "./names.ts";

/** The name of a wire format that clients or upstreams speak; the registry of dialects lists them. */
export type DialectName = string;

export type Fields = Readonly<Record<string, unknown>>;

/**
 * Fields of a dialect that the gateway does not understand. The same dialect gets them back
 * unchanged; for another dialect their loss becomes a Decision.
 */
export type Extra = {
  readonly dialect: DialectName;
  readonly fields: Fields;
  /** Fields that only affect cost or speed, or repeat another field: leaving them out is no loss. */
  readonly hints?: Fields | undefined;
};

/**
 * One request. `Name` is ClientName in the client's request and UpstreamName once it is planned, so
 * the two cannot be mixed up.
 */
export type Turn<Name extends AnyName = ClientName> = {
  /** The client's dialect. */
  readonly dialect: DialectName;
  readonly traits: DialectTraits;
  readonly model: string;
  readonly items: readonly Item<Name>[];
  /** For each item, the index of the client's message or input that holds it; undefined: the items' own order. */
  readonly places?: readonly number[] | undefined;
  readonly tools: readonly Tool<Name>[];
  readonly toolChoice?: ToolChoice<Name> | undefined;
  readonly format?: Format | undefined;
  readonly params: Params;
  readonly stream: boolean;
  /** The form of the stream, in a dialect with more than one. */
  readonly streamForm?: string | undefined;
  /** True if the client wants the token count at the end of a stream. */
  readonly usageWanted: boolean;
  readonly extra: Extra;
  /** Repairs made while reading. A request with repairs is not forwarded unchanged. */
  readonly repairs?: readonly Decision[] | undefined;
  /** The client's request body, never changed: the straight lane forwards it. */
  readonly body: Fields;
  /** The field of the request that refers to earlier turns. Their items come first and have the place -1. */
  readonly historyPath?: string | undefined;
  /** Fields of the answer for parts of the request that the gateway itself serves, in the client's dialect. */
  readonly gatewayFields?: Fields | undefined;
  /** Fields of the upstream's dialect that continue its paused answer to this request. */
  readonly continuation?: Extra | undefined;
  /** Request headers of the client's dialect, for upstreams of the same dialect; names in lower case. */
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
  /** The participant's name. */
  readonly name?: string | undefined;
  /** `commentary` or `final_answer`: the role of an assistant message in a long turn. */
  readonly phase?: string | undefined;
  /** True for the `instructions` field: each turn replaces it. */
  readonly instructions?: boolean | undefined;
  readonly status?: Status | undefined;
  readonly extra?: Extra | undefined;
};

export type Status = "in_progress" | "completed" | "incomplete";

export type Part =
  | {
      readonly type: "text";
      readonly text: string;
      /** The names of the tools that this text, a result of a search for tools, announces. */
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
      /** A data URL or base64 text. */
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
  /** Encrypted reasoning: only the model that made it can read it. */
  readonly encrypted?: string | undefined;
  /** The `reasoning_details` of some chat providers, kept whole. */
  readonly details?: readonly unknown[] | undefined;
  readonly status?: Status | undefined;
  readonly extra?: Extra | undefined;
};

export type Call<Name extends AnyName = ClientName> = {
  readonly type: "call";
  /** Pairs the call with its result. */
  readonly id: string;
  /** `function`, `custom`, or a built-in kind such as `local_shell`. */
  readonly kind: string;
  readonly name: Name;
  readonly namespace?: string | undefined;
  /** JSON text of a function's arguments, or free text for a custom tool; always verbatim. */
  readonly input: string;
  /** The id of the item: some dialects have one besides the call's id. */
  readonly itemId?: string | undefined;
  readonly status?: Status | undefined;
  readonly extra?: Extra | undefined;
};

export type Result = {
  readonly type: "result";
  /** The id of the call that the result answers. */
  readonly call: string;
  readonly kind: string;
  /** The name of the tool, if the result repeats it. */
  readonly name?: string | undefined;
  readonly parts: readonly Part[];
  /** True if the tool failed; the parts give the reason. */
  readonly isError?: boolean | undefined;
  /** The tools that the result of a search for tools declares. */
  readonly declares?: ToolDeclarations | undefined;
  readonly itemId?: string | undefined;
  readonly status?: Status | undefined;
  readonly extra?: Extra | undefined;
};

/** An item of an unknown kind, kept whole. */
export type Opaque = {
  readonly type: "opaque";
  readonly dialect: DialectName;
  readonly raw: Fields;
  /** The tools of `additional_tools` items and of a provider's own search. */
  readonly declares?: ToolDeclarations | undefined;
};

/** A list of tools in an item of the conversation. They are declared from that item on. */
export type ToolDeclarations<Member = Tool> = {
  readonly tools: readonly Member[];
  /** Indexes of the entries in the client's list that are no readable tools. */
  readonly unreadable?: readonly number[] | undefined;
};

export type JsonSchema = boolean | Fields;

export type Tool<Name extends AnyName = ClientName> = Callable<Name> | NamespaceTool<Name>;

/** A tool that can be called. Namespaces hold only such tools. */
export type Callable<Name extends AnyName = ClientName> =
  | FunctionTool<Name>
  | CustomTool<Name>
  | BuiltinTool<Name>;

export type FunctionTool<Name extends AnyName = ClientName> = {
  readonly type: "function";
  /** The client's path of the tool, if that is not `tools[n]`. */
  readonly path?: string | undefined;
  readonly name: Name;
  readonly description?: string | undefined;
  readonly schema?: JsonSchema | undefined;
  readonly strict?: boolean | undefined;
  /** True if the tool is not offered until the client's own search for tools finds it. */
  readonly deferred?: boolean | undefined;
  /** True if a result declared the tool. Upstreams with a form for this keep their cached prompt before that result. */
  readonly loaded?: boolean | undefined;
  readonly extra?: Extra | undefined;
};

/** A tool whose input is free text, optionally limited by a grammar. */
export type CustomTool<Name extends AnyName = ClientName> = {
  readonly type: "custom";
  readonly path?: string | undefined;
  readonly name: Name;
  readonly description?: string | undefined;
  readonly format?: Fields | undefined;
  readonly extra?: Extra | undefined;
};

/** A tool that the dialect identifies by its kind alone: `web_search`, `local_shell`, ... */
export type BuiltinTool<Name extends AnyName = ClientName> = {
  readonly type: "builtin";
  readonly path?: string | undefined;
  readonly kind: string;
  readonly name: Name;
  readonly dialect: DialectName;
  readonly raw: Fields;
};

/** A named group of tools, such as those of one MCP server. The group itself is never called. */
export type NamespaceTool<Name extends AnyName = ClientName> = {
  readonly type: "namespace";
  readonly path?: string | undefined;
  readonly name: string;
  readonly description?: string | undefined;
  readonly extra?: Extra | undefined;
} & ToolDeclarations<Callable<Name>>;

/** A reference to a tool in a tool choice. */
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
  /** An unknown format, such as a grammar; only its own dialect can express it. */
  | { readonly type: "opaque"; readonly dialect: DialectName; readonly raw: unknown };

/** The parameters of a request. The traits of each dialect list its names for them. */
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
  /** Alternatives per token; 0 asks for the chosen token only. */
  readonly logprobs?: number | undefined;
  readonly parallelCalls?: boolean | undefined;
  readonly maxCalls?: number | undefined;
  readonly effort?: string | undefined;
  /** The mode of thinking, such as `adaptive`, in dialects that separate it from the effort. */
  readonly thinking?: string | undefined;
  /** The most tokens of reasoning. */
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
  /** A conversation that the provider keeps; the request holds only the new items. */
  readonly thread?: Fields | undefined;
  /** Asks for a summary of the conversation in place of an answer. */
  readonly compaction?: Fields | undefined;
  /** The name of content that the provider keeps, which comes before the conversation. */
  readonly cachedContent?: string | undefined;
};
