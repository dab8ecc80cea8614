import type { Fields, Params } from "./turn.ts";

/** Where the requests of a dialect keep parameters; a dot goes into a group. */
export type ParamPaths = { readonly [P in keyof Params]?: string };

/**
 * What code that serves every dialect may ask about one: what its requests call
 * their parts, for decisions and faults, and what its answers have room for.
 */
export type DialectTraits = {
  /** The field that holds the conversation, a list or a single text. */
  readonly conversation: string;
  /** The field for instructions, where they are not part of the conversation. */
  readonly instructions?: string | undefined;
  /** Other words by which upstreams of the dialect blame a part of the conversation. */
  readonly blamedAs?: readonly string[] | undefined;
  readonly format: {
    readonly path: string;
    /** The group below it that holds a schema and its name, if there is one. */
    readonly schemaGroup?: string | undefined;
  };
  /** A parameter without a path is one that the dialect does not have. */
  readonly params: ParamPaths;
  /** Older keys for the same parameters, where a client may use either. */
  readonly olderParams?: ParamPaths | undefined;
  /** Whether the fields of a tool stand in an object named after its type. */
  readonly nestsTools: boolean;
  /** Whether a function is strict unless it says that it is not. */
  readonly strictFunctions: boolean;
  /** Whether `strict` holds for objects that may leave properties out; elsewhere those are refused. */
  readonly openStrict?: boolean | undefined;
  /** Whether calls of built-in tools are written as calls of a function. */
  readonly builtinsAsFunctions: boolean;
  /** Whether a request with nothing but tools that the provider runs asks for just those to be run. */
  readonly asksForHosted?: boolean | undefined;
  /** Whether its reasoning carries a text that only the upstream which made it can read. */
  readonly sealsReasoning: boolean;
  /** Whether such a text stands in a list of details beside the words, and what was not sealed stays as it came. */
  readonly sealsInDetails?: boolean | undefined;
  /** Whether all of its reasoning carries such a text, also where the upstream wants none back; and the words stand beside it. */
  readonly signsReasoning?: boolean | undefined;
  /** Whether an answer goes on with the model's own words, where a conversation ends with them. */
  readonly prefills?: boolean | undefined;
  /** Whether a stream tells the end of each call, and not only that of the whole answer. */
  readonly endsCalls: boolean;
  /** Whether the text and the calls of an answer are one message. */
  readonly callsInMessage: boolean;
  /** What an answer says that ended at a stop sequence, where the dialect has words for it. */
  readonly stoppedAt?: ((sequence: string) => Fields) | undefined;
  /** How many choices an answer has room for. */
  readonly choices: number;
};
