import type { Fields, Params } from "./turn.ts";

/** The paths of parameters in the requests of a dialect; a dot separates a group from its field. */
export type ParamPaths = { readonly [P in keyof Params]?: string };

/**
 * Properties of a dialect for code that serves every dialect: the names of the parts of its
 * requests, for decisions and faults, and the parts that its answers can hold.
 */
export type DialectTraits = {
  /** The field that holds the conversation, a list or a single text. */
  readonly conversation: string;
  /** The field for instructions; undefined if they are part of the conversation. */
  readonly instructions?: string | undefined;
  /** Other names that upstreams of the dialect give the conversation in their errors. */
  readonly blamedAs?: readonly string[] | undefined;
  /** The field for the choice among the tools, and that of an entry of `tools` that lists functions. */
  readonly toolChoice: string;
  readonly functionList?: string | undefined;
  readonly format: {
    readonly path: string;
    /** The group below the path that holds a schema and its name. */
    readonly schemaGroup?: string | undefined;
  };
  /** The dialect has no parameter without a path. */
  readonly params: ParamPaths;
  /** Older keys of the same parameters, which clients may also use. */
  readonly olderParams?: ParamPaths | undefined;
  /** True if the fields of a tool are in an object named after its type. */
  readonly nestsTools: boolean;
  /** True if functions are strict by default. */
  readonly strictFunctions: boolean;
  /** True if `strict` allows optional properties; other dialects refuse such schemas. */
  readonly openStrict?: boolean | undefined;
  /** True if calls of built-in tools are written as calls of a function. */
  readonly builtinsAsFunctions: boolean;
  /** True if a request with only tools that the provider runs cannot be answered without them. */
  readonly asksForHosted?: boolean | undefined;
  /** True if its reasoning can carry a text that only the upstream that made it can read. */
  readonly sealsReasoning: boolean;
  /** True if that text is in a list of details beside the readable reasoning, and unsealed reasoning stays unchanged. */
  readonly sealsInDetails?: boolean | undefined;
  /** True if all of its reasoning carries that text beside readable reasoning, also for upstreams that want none back. */
  readonly signsReasoning?: boolean | undefined;
  /** True if only models of this dialect can have made that text, unless it is a seal. */
  readonly ownsSignatures?: boolean | undefined;
  /** True if an answer continues the conversation's last message, if that is the model's. */
  readonly prefills?: boolean | undefined;
  /** True if a stream marks the end of each call. */
  readonly endsCalls: boolean;
  /** True if clients are sent calls at the end of the answer only. */
  readonly sendsCallsLast?: boolean | undefined;
  /** True if the text and the calls of an answer are one message. */
  readonly callsInMessage: boolean;
  /** Fields of an answer that ended at a stop sequence. */
  readonly stoppedAt?: ((sequence: string) => Fields) | undefined;
  /** The most choices of an answer. */
  readonly choices: number;
};
