import type { DialectName, Fields, Params, Role } from "./turn.ts";

/** How a kind of tool fares on an upstream. */
export type KindRule = "native" | "degrade" | "ignore" | "refuse";

export type NameRule = {
  /** A character class without brackets, such as `A-Za-z0-9_-`. */
  readonly chars: string;
  readonly max: number;
  /** The class of the first character, where it is narrower. */
  readonly first?: string | undefined;
  /** Names the upstream keeps for itself; `mcp__*` stands for all that begin so. */
  readonly reserved?: readonly string[] | undefined;
  /** How unlawful names are made lawful: `bend` (the default) or `hash`, which marks every bent name. */
  readonly codec?: "bend" | "hash" | undefined;
};

/** `exact`: all ids have the same length, which is `max`. */
export type IdRule = NameRule & { readonly exact?: boolean | undefined };

export type ToolChoiceForm = "auto" | "none" | "required" | "function" | "allowed";

/**
 * The part of JSON Schema an upstream takes for a function's parameters. What
 * is not said is taken. Whatever falls outside is rewritten, so that arguments
 * can be turned back into values of the client's own schema.
 */
export type SchemaRule = {
  /** Whether `$ref` may be used; else definitions are written out where they are used. */
  readonly refs?: boolean | undefined;
  /** Which combinations it takes. */
  readonly unions?: readonly ("anyOf" | "oneOf" | "allOf")[] | undefined;
  /** Whether the parameters may be anything but a plain object; not said: anything that an object fits. */
  readonly anyRoot?: boolean | undefined;
  /** Whether an object may have keys that its schema does not name. */
  readonly maps?: boolean | undefined;
  /** Whether a property may be left out; else those that may be are nullable instead. */
  readonly optional?: boolean | undefined;
  /** Whether `type` may be a list. */
  readonly typeLists?: boolean | undefined;
  /** Whether a schema may leave the type open, as `{}` and `true` do. */
  readonly untyped?: boolean | undefined;
  /** Whether the items of an array may differ by position. */
  readonly tuples?: boolean | undefined;
  /** Whether `const` may be used; else it is an `enum` of one. */
  readonly consts?: boolean | undefined;
  /** Whether an `enum` may hold more than strings. */
  readonly mixedEnums?: boolean | undefined;
  /** The constraints it takes, such as `minimum`; others are told in the description. */
  readonly keywords?: readonly string[] | undefined;
  /** The values of `format` it takes. */
  readonly formats?: readonly string[] | undefined;
  /** What property names may look like. */
  readonly keys?: NameRule | undefined;
  /** Whether `strict` may be asked for. */
  readonly strict?: boolean | undefined;
  /** The draft by which it reads schemas, where it refuses those of another; not said: it takes any. */
  readonly draft?: "2020-12" | undefined;
};

/** The part of JSON Schema that the answers of an upstream can be held to. */
export type StrictRule = {
  /** The keywords it takes; others are left out, and the answer is checked against them. */
  readonly keywords: readonly string[];
  /** The values of `format` it takes. */
  readonly formats: readonly string[];
};

/** What an upstream asks of the conversation so far. What is not said is taken. */
export type HistoryRule = {
  /** Every call must be answered once, right behind the message that made it. */
  readonly paired?: boolean | undefined;
  /** Whether what the model says between calls that it makes at once may stand there. */
  readonly interleaved?: boolean | undefined;
  /** The roles it takes; a message in another goes under the nearest. */
  readonly roles?: readonly Role[] | undefined;
  /** Whether system messages may stand anywhere but at the beginning. */
  readonly lateSystem?: boolean | undefined;
  /** The tag that marks a later system message among the user's words, where it may not stand by itself. */
  readonly reminderTag?: string | undefined;
  /** What a message may hold besides text. */
  readonly media?: readonly Medium[] | undefined;
  /** What the result of a call may hold besides text. */
  readonly resultMedia?: readonly Medium[] | undefined;
  /** What system messages may hold besides text. */
  readonly systemMedia?: readonly Medium[] | undefined;
  /** Whether a message may be empty. */
  readonly empty?: boolean | undefined;
  /** Whether a message may say the name of who speaks. */
  readonly names?: boolean | undefined;
  /** Whether the conversation may end with the beginning of the model's answer. */
  readonly prefill?: boolean | undefined;
  /** Whether a result must say the name of its tool. */
  readonly resultNames?: boolean | undefined;
  /** What stands for the reasoning before calls where none is known, if calls are refused without any. */
  readonly reasoningWithCalls?: string | undefined;
  /** What the model is taken to have said where somebody else speaks right behind results, if that is refused. */
  readonly behindResults?: string | undefined;
  /** What the user is taken to have said where the conversation begins with calls, if that is refused. */
  readonly beforeCalls?: string | undefined;
  /** What call ids must look like. */
  readonly ids?: IdRule | undefined;
};

export type Medium = "image" | "file" | "audio";

/** How an upstream is told one reasoning effort. */
export type EffortRule = {
  /** Its word for it, where it has another; null: it is told none. */
  readonly as?: string | null | undefined;
  /** What it is told besides, such as whether to think at all; a field that the client sets itself is left alone. */
  readonly fields?: Fields | undefined;
  /** Whether it then thinks a good deal more or less than was asked for. */
  readonly changed?: boolean | undefined;
};

/** How the models of an upstream are told whether and how much to think. */
export type ThinkingRule = {
  /** The words for it that they take, such as `adaptive`. */
  readonly forms: readonly string[];
  /** The efforts that they know, the least first; none: they are told no effort. */
  readonly efforts: readonly string[];
  /** Whether they may be told to show what they think. */
  readonly display?: boolean | undefined;
  /** Whether a turn that calls tools must begin with what was thought, while they think. */
  readonly leads?: boolean | undefined;
};

/**
 * How a built-in tool is written for an upstream that has its own form of it.
 * Copied as it is, except that `{ "$from": "a.b" }` stands for what the client
 * said at that path, through `map` if there is one; if the client said nothing
 * it is `else`, and without one the key is left out.
 */
export type BuiltinTemplate = Fields;

/** How a service that hosts the models of another is asked, where it is not as the dialect is. */
export type RouteRule = {
  /** Below the base URL; `{model}` stands for the model's name at the upstream. */
  readonly path: string;
  /** The same for streams; none: it is asked for whole answers only. */
  readonly stream?: string | undefined;
  /** The fields of a request that it says elsewhere or does not know, such as `model`. */
  readonly without: readonly string[];
};

/** What an upstream can do, as data. Shared code asks it and never who the upstream is. */
export type Profile = {
  readonly name: string;
  /** Whose service it is, as OpenTelemetry's conventions call it; none: whoever runs the upstream. */
  readonly provider?: string | undefined;
  /** Names of the provider's own models; `claude-*` stands for all that begin so. */
  readonly families?: readonly string[] | undefined;
  /** The model to ask where none is named; null: one that the profile extends has a default, and this has none. */
  readonly defaultModel?: string | null | undefined;
  readonly dialect: DialectName;
  readonly tools: {
    /** By kind; `*` answers for the kinds not named. */
    readonly kinds: Readonly<Record<string, KindRule>>;
    readonly max: number;
    readonly names: NameRule;
    /** How long the description of a tool may be; not said: as long as it likes. */
    readonly descriptions?: number | undefined;
    readonly choice: readonly ToolChoiceForm[];
    readonly parallel: boolean;
    /** Whether tools may change with every turn, or are fixed when a thread starts. Like the next two, for tools on demand. */
    readonly declares: "turn" | "thread";
    /** Whether the upstream loads tools itself that are marked as deferred. */
    readonly deferred: boolean;
    /** Whether the upstream caches the beginning of a prompt, where the tools stand. */
    readonly cached: boolean;
    /** Whether tools may be declared in namespaces; where not, no kind rule makes it so. */
    readonly namespaces?: boolean | undefined;
    /** Whether the model writes calls into its text, as `<use_tool>` blocks. */
    readonly written?: boolean | undefined;
    readonly schema?: SchemaRule | undefined;
    /** By kind, for native kinds that the upstream writes in its own way. */
    readonly builtins?: Readonly<Record<string, BuiltinTemplate>> | undefined;
    /** The same for tools as clients of another dialect declare them, by that dialect and the kind. */
    readonly foreign?:
      | Readonly<Record<DialectName, Readonly<Record<string, BuiltinTemplate>>>>
      | undefined;
  };
  readonly history?: HistoryRule | undefined;
  /** What the upstream calls a parameter, where it is not what its dialect does; null: it has none. */
  readonly params: { readonly [P in keyof Params]?: string | null };
  /** By reasoning effort, `*` for those not named; one that is not here is told as it is. */
  readonly effort?: Readonly<Record<string, EffortRule>> | undefined;
  /** Where requests go, where it is not where the dialect has them. */
  readonly route?: RouteRule | undefined;
  /** Whether a key is sent as a bearer token, whatever the dialect has for it. */
  readonly bearer?: boolean | undefined;
  /** What every request must say; a field that the client sets itself is left alone, and null is none. */
  readonly fields?: Fields | undefined;
  /** `strict`: to a schema, and always strictly, so that not every schema will do. */
  readonly formats: readonly ("text" | "json" | "schema" | "strict")[];
  /** What a format with a schema may ask for where it is always strict; not said: anything. */
  readonly strictSchema?: StrictRule | undefined;
  /** How the upstream wants past reasoning back, if at all. */
  readonly reasoning:
    | "reasoning_content"
    | "reasoning"
    | "reasoning_details"
    | "items"
    | "thinking"
    /** Only what its own models have signed. */
    | "signed_thinking"
    | "none";
  /** Whether models reason whatever a request says of it; not said: only where it says how much. */
  readonly reasons?: boolean | undefined;
  /** How models are told to think, where the dialect says so apart from the effort; not said: in any form. */
  readonly thinking?: ThinkingRule | undefined;
  /** The most tokens of an answer; said where the client names no limit and the dialect needs one. */
  readonly maxTokens?: number | undefined;
  /** How many characters the name of a user may have. */
  readonly maxUser?: number | undefined;
  /** Whether it says how many tokens a request has without answering it. */
  readonly countsTokens?: boolean | undefined;
  /** Whether only one of temperature and top_p may be said. */
  readonly exclusiveSampling?: boolean | undefined;
  /** What has the upstream cache a prompt, for clients whose dialect has no word for that. */
  readonly cacheMark?: Fields | undefined;
  /** Whether `stream_options.include_usage` may be asked for. */
  readonly streamUsage: boolean;
  /** Whether it may pause an answer in which it runs tools itself, and goes on where it is sent that back. */
  readonly pauses?: boolean | undefined;
  /** What is otherwise for some models; of several that say something of a model, the later count. */
  readonly models?: readonly ModelDifference[] | undefined;
};

/** Whether what only one dialect has can be sent to an upstream as it is: one that speaks it, or a script, which plays any. */
export const takesFrom = (dialect: DialectName, to: Pick<Profile, "dialect">): boolean =>
  to.dialect === dialect || to.dialect === "scripted";

type Some<T> = { readonly [K in keyof T]?: T[K] | undefined };

/** What a profile says otherwise than another. */
export type Difference = Some<
  Omit<Profile, "name" | "provider" | "dialect" | "tools" | "models">
> & {
  readonly tools?:
    | (Some<Omit<Profile["tools"], "names">> & { readonly names?: Some<NameRule> | undefined })
    | undefined;
};

/** What a profile says otherwise for the models of some names, where `*` stands for anything. */
export type ModelDifference = Difference & { readonly match: string | readonly string[] };
