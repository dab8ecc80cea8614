import type { DialectName, Fields, Params, Role } from "./turn.ts";

/** The rule of an upstream for a kind of tool. */
export type KindRule = "native" | "degrade" | "ignore" | "refuse";

export type NameRule = {
  /** A character class without brackets, such as `A-Za-z0-9_-`. */
  readonly chars: string;
  readonly max: number;
  /** The class of the first character, if it is narrower. */
  readonly first?: string | undefined;
  /** Names that the upstream reserves; `mcp__*` matches all names with that prefix. */
  readonly reserved?: readonly string[] | undefined;
  /** Rewriting of invalid names: `bend` (the default) replaces characters, `hash` also adds a hash to each such name. */
  readonly codec?: "bend" | "hash" | undefined;
};

/** `exact`: all ids have the same length, which is `max`. */
export type IdRule = NameRule & { readonly exact?: boolean | undefined };

export type ToolChoiceForm = "auto" | "none" | "required" | "function" | "allowed";

/**
 * The part of JSON Schema that an upstream takes for the parameters of a function; a missing field
 * means no limit. Other schemas are rewritten so that arguments can be converted back into values
 * of the client's schema.
 */
export type SchemaRule = {
  /**
   * False: `$ref` is not taken, so definitions are copied to where they are used. `bare`: only one
   * into `$defs`, with nothing but remarks beside it, and no cycle in required properties.
   */
  readonly refs?: boolean | "bare" | undefined;
  /** The combinations that it takes. */
  readonly unions?: readonly ("anyOf" | "oneOf" | "allOf")[] | undefined;
  /** True: the parameters may have any schema; false: a plain object only; undefined: any schema that allows objects. */
  readonly anyRoot?: boolean | undefined;
  /** False: an object may have only the keys that its schema names. */
  readonly maps?: boolean | undefined;
  /** False: every property is required, so optional ones become nullable. */
  readonly optional?: boolean | undefined;
  /** False: `type` may not be a list. */
  readonly typeLists?: boolean | undefined;
  /** False: every schema needs a type, so `{}` and `true` are not taken. */
  readonly untyped?: boolean | undefined;
  /** False: the items of an array may not differ by position. */
  readonly tuples?: boolean | undefined;
  /** False: `const` is sent as an `enum` with one value. */
  readonly consts?: boolean | undefined;
  /** False: an `enum` may hold only strings that are not empty. */
  readonly mixedEnums?: boolean | undefined;
  /** The constraints that it takes, such as `minimum`; the description states all others. */
  readonly keywords?: readonly string[] | undefined;
  /** The values of `format` that it takes. */
  readonly formats?: readonly string[] | undefined;
  /** The rule for property names. */
  readonly keys?: NameRule | undefined;
  /** False: `strict` is not taken. */
  readonly strict?: boolean | undefined;
  /** The only draft of JSON Schema that it takes; undefined: any draft. */
  readonly draft?: "2020-12" | undefined;
  /** True: it takes schemas in the form of OpenAPI, as protobuf has it. */
  readonly openApi?: boolean | undefined;
  /** False: an object within the parameters must name at least one property. */
  readonly empty?: boolean | undefined;
};

/** The part of JSON Schema that the answers of an upstream can be held to. */
export type StrictRule = {
  /** The keywords that it takes; others are left out, and the answer is checked against them. */
  readonly keywords: readonly string[];
  /** The values of `format` that it takes. */
  readonly formats: readonly string[];
};

/** The rules of an upstream for the conversation so far; a missing field means no limit. */
export type HistoryRule = {
  /** True if every call must be answered once, right after the message that made it. */
  readonly paired?: boolean | undefined;
  /** True if text of the model between parallel calls may stay between them. */
  readonly interleaved?: boolean | undefined;
  /** The roles that it takes; other messages are sent under the nearest of them. */
  readonly roles?: readonly Role[] | undefined;
  /** False: system messages may only be at the beginning. */
  readonly lateSystem?: boolean | undefined;
  /** The tag around a later system message that has to be sent as the user's. */
  readonly reminderTag?: string | undefined;
  /** Media that a message may hold. */
  readonly media?: readonly Medium[] | undefined;
  /** Media that the result of a call may hold. */
  readonly resultMedia?: readonly Medium[] | undefined;
  /** Media that system messages may hold. */
  readonly systemMedia?: readonly Medium[] | undefined;
  /** False: no message may be empty. */
  readonly empty?: boolean | undefined;
  /** False: a message may not name its participant. */
  readonly names?: boolean | undefined;
  /** False: the conversation may not end with the beginning of the model's answer. */
  readonly prefill?: boolean | undefined;
  /** True if a result must name its tool. */
  readonly resultNames?: boolean | undefined;
  /** Reasoning to add before calls that have none, for upstreams that refuse such calls. */
  readonly reasoningWithCalls?: string | undefined;
  /** Text of the model to add between results and the message of another role, for upstreams that refuse those side by side. */
  readonly behindResults?: string | undefined;
  /** Text of the user to add to a conversation that begins with calls, for upstreams that refuse that. */
  readonly beforeCalls?: string | undefined;
  /** The rule for call ids. */
  readonly ids?: IdRule | undefined;
  /** False: calls and results have no ids; they belong together by their order. */
  readonly callIds?: boolean | undefined;
  /** False: signatures of reasoning are not given back. */
  readonly signatures?: boolean | undefined;
  /** The form of results whose call is not known; undefined: they are left out. */
  readonly strayResults?: "text" | undefined;
};

export type Medium = "image" | "file" | "audio";

/** The form of one reasoning effort at an upstream. */
export type EffortRule = {
  /** The upstream's name for it, if it differs; null: no effort is sent. */
  readonly as?: string | null | undefined;
  /** Fields to add, such as one that turns thinking on; fields of the client win. */
  readonly fields?: Fields | undefined;
  /** True if the upstream then thinks clearly more or less than the client asked for. */
  readonly changed?: boolean | undefined;
};

/** The controls of thinking that the models of an upstream have. */
export type ThinkingRule = {
  /** The modes that they take, such as `adaptive`. */
  readonly forms: readonly string[];
  /** The efforts that they take, from the lowest; empty: no effort is sent. */
  readonly efforts: readonly string[];
  /** True if a request may ask them to show their reasoning. */
  readonly display?: boolean | undefined;
  /** True if a turn that calls tools must begin with reasoning while thinking is on. */
  readonly leads?: boolean | undefined;
  /** The budgets of tokens that they take in place of efforts. */
  readonly budgets?: ThinkingBudgets | undefined;
};

/** `off`: 0 turns thinking off. */
export type ThinkingBudgets = {
  readonly least: number;
  readonly most: number;
  readonly off: boolean;
};

/**
 * The upstream's form of a built-in tool. It is copied, except that `{ "$from": "a.b" }` is replaced
 * by the client's value at that path, looked up in `map` if there is one. If the client has no
 * value, `else` takes its place; without `else` the key is left out.
 */
export type BuiltinTemplate = Fields;

/** The addresses of a service that hosts the models of another provider, if they differ from the dialect's. */
export type RouteRule = {
  /** The path below the base URL, with the upstream's model name in place of `{model}`. */
  readonly path: string;
  /** The same for streams; undefined: it gives whole answers only. */
  readonly stream?: string | undefined;
  /** The fields of a request body that it does not take, such as `model`. */
  readonly without: readonly string[];
};

/** The capabilities of an upstream, as data. Shared code asks the profile, never the name of the upstream. */
export type Profile = {
  readonly name: string;
  /** The provider's name in the conventions of OpenTelemetry; undefined for servers that anyone can run. */
  readonly provider?: string | undefined;
  /** Names of the provider's own models; `claude-*` matches all names with that prefix. */
  readonly families?: readonly string[] | undefined;
  /** The model for requests that name none; null removes the default of an extended profile. */
  readonly defaultModel?: string | null | undefined;
  readonly dialect: DialectName;
  readonly tools: {
    /** Rules by kind; `*` is the rule for all other kinds. */
    readonly kinds: Readonly<Record<string, KindRule>>;
    readonly max: number;
    readonly names: NameRule;
    /** The most characters of a tool's description; undefined: no limit. */
    readonly descriptions?: number | undefined;
    readonly choice: readonly ToolChoiceForm[];
    readonly parallel: boolean;
    /** `turn`: tools may change with every turn; `thread`: they are fixed when a thread starts. Tools on demand depend on this and the next two fields. */
    readonly declares: "turn" | "thread";
    /** True if the upstream itself loads tools that are marked as deferred. */
    readonly deferred: boolean;
    /** True if the upstream caches the beginning of a prompt, which holds the tools. */
    readonly cached: boolean;
    /** True if tools may be declared in namespaces; otherwise a native kind rule has no effect on them. */
    readonly namespaces?: boolean | undefined;
    /** True if the model writes calls into its text, as `<use_tool>` blocks. */
    readonly written?: boolean | undefined;
    readonly schema?: SchemaRule | undefined;
    /**
     * Tools that the provider runs beside functions. False: it takes only one sort, so functions win;
     * `declared`: a request must say that it has both; undefined: they need no rule.
     */
    readonly mixed?: false | "declared" | undefined;
    /** By kind: the upstream's form of native kinds. */
    readonly builtins?: Readonly<Record<string, BuiltinTemplate>> | undefined;
    /** The same for tools that clients of another dialect declare, by that dialect and the kind. */
    readonly foreign?:
      | Readonly<Record<DialectName, Readonly<Record<string, BuiltinTemplate>>>>
      | undefined;
  };
  readonly history?: HistoryRule | undefined;
  /** The upstream's names of parameters that differ from its dialect's; null: it has no such parameter. */
  readonly params: { readonly [P in keyof Params]?: string | null };
  /** Rules by reasoning effort; `*` is the rule for all others. An effort without a rule is sent unchanged. */
  readonly effort?: Readonly<Record<string, EffortRule>> | undefined;
  readonly route?: RouteRule | undefined;
  /** True if the key is sent as a bearer token in every dialect. */
  readonly bearer?: boolean | undefined;
  /** The host's credentials that requests carry if no key is configured. */
  readonly credentials?: "google" | undefined;
  /** Fields of every request; fields of the client win, and null removes one. */
  readonly fields?: Fields | undefined;
  /** `strict`: schemas are always enforced strictly, so not every schema is taken. */
  readonly formats: readonly ("text" | "json" | "schema" | "strict")[];
  /** The same for requests with tools; undefined: tools make no difference. */
  readonly toolFormats?: Profile["formats"] | undefined;
  /** The schemas of formats that are always strict; undefined: any schema. */
  readonly strictSchema?: StrictRule | undefined;
  /** The form in which the upstream wants past reasoning back. */
  readonly reasoning:
    | "reasoning_content"
    | "reasoning"
    | "reasoning_details"
    | "items"
    | "thinking"
    /** Only reasoning that its own models have signed. */
    | "signed_thinking"
    | "none";
  /** True if models reason on every request, false if on none; undefined: if the request sets an effort. */
  readonly reasons?: boolean | undefined;
  /** The controls of thinking, in dialects that separate it from the effort; undefined: all of them. */
  readonly thinking?: ThinkingRule | undefined;
  /** The most tokens of an answer; sent if the client sets no limit and the dialect requires one. */
  readonly maxTokens?: number | undefined;
  /** The most stop sequences. The gateway itself ends answers at further ones. */
  readonly maxStops?: number | undefined;
  /** The most characters of a user's name. */
  readonly maxUser?: number | undefined;
  /** True if it can count the tokens of a request without answering it. */
  readonly countsTokens?: boolean | undefined;
  /** True if a request may set only one of temperature and top_p. */
  readonly exclusiveSampling?: boolean | undefined;
  /** Fields that make the upstream cache a prompt, for clients whose dialect cannot ask for that. */
  readonly cacheMark?: Fields | undefined;
  /** True if it takes `stream_options.include_usage`. */
  readonly streamUsage: boolean;
  /**
   * True if it may pause an answer in which it runs tools, and continues the answer if it is sent
   * back. `continuation`: it may pause any answer, and continues it for the token of the pause.
   */
  readonly pauses?: boolean | "continuation" | undefined;
  /** Differences for some models; later ones win. */
  readonly models?: readonly ModelDifference[] | undefined;
};

/** True if parts that only one dialect has can be sent unchanged: to upstreams of that dialect, and to scripts. */
export const takesFrom = (dialect: DialectName, to: Pick<Profile, "dialect">): boolean =>
  to.dialect === dialect || to.dialect === "scripted";

type Some<T> = { readonly [K in keyof T]?: T[K] | undefined };

/** The fields in which a profile differs from another. */
export type Difference = Some<
  Omit<Profile, "name" | "provider" | "dialect" | "tools" | "models">
> & {
  readonly tools?:
    | (Some<Omit<Profile["tools"], "names">> & { readonly names?: Some<NameRule> | undefined })
    | undefined;
};

/** The difference for models whose names match; `*` matches any text. */
export type ModelDifference = Difference & { readonly match: string | readonly string[] };
