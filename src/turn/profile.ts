import type { DialectName, Params } from "./turn.ts";

/** How a kind of tool fares on an upstream. */
export type KindRule = "native" | "degrade" | "ignore" | "refuse";

export type NameRule = {
  /** A character class without brackets, such as `A-Za-z0-9_-`. */
  readonly chars: string;
  readonly max: number;
  /** The class of the first character, where it is narrower. */
  readonly first?: string | undefined;
  /** Names the upstream keeps for itself. */
  readonly reserved?: readonly string[] | undefined;
  /** How unlawful names are made lawful: `bend` (the default) or `hash`, which marks every bent name. */
  readonly codec?: "bend" | "hash" | undefined;
};

export type ChoiceForm = "auto" | "none" | "required" | "function" | "allowed";

/** What an upstream can do, as data. Shared code asks it and never who the upstream is. */
export type Profile = {
  readonly name: string;
  readonly dialect: DialectName;
  readonly tools: {
    /** By kind; `*` answers for the kinds not named. */
    readonly kinds: Readonly<Record<string, KindRule>>;
    readonly max: number;
    readonly names: NameRule;
    readonly choice: readonly ChoiceForm[];
    readonly parallel: boolean;
    /** Whether tools may change with every turn, or are fixed when a thread starts. */
    readonly declares: "turn" | "thread";
    readonly deferred: boolean;
    readonly cached: boolean;
  };
  /** What the upstream calls a parameter, where it is not what its dialect does; null: it has none. */
  readonly params: { readonly [P in keyof Params]?: string | null };
  readonly formats: readonly ("text" | "json" | "schema")[];
  /** How the upstream wants past reasoning back, if at all. */
  readonly reasoning: "reasoning_content" | "reasoning" | "reasoning_details" | "items" | "none";
  /** Whether `stream_options.include_usage` may be asked for. */
  readonly streamUsage: boolean;
};
