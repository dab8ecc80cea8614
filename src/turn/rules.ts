/** The form of calls for the client: only as the API has them, or also as text blocks. */
export type OutputMode = "openai-json" | "obsidian-xml";

/** The moment of a stop after calls: after the first call, or after a pause in a burst of calls. */
export type StopMode = "first" | "burst";

/** The gateway's rules for the calls of an answer, for every upstream. */
export type CallRules = {
  /** Undefined: the answer is shown as the model gave it. */
  readonly output?: OutputMode | undefined;
  /** The text between two blocks. */
  readonly delimiter: string;
  /** True if calls in the model's text are read as calls; undefined: the profile decides. */
  readonly textCalls?: boolean | undefined;
  /**
   * True if a model may make several calls at once. `unrequested`: several calls are not requested,
   * but the client receives all that the model makes.
   */
  readonly parallel: boolean | "unrequested";
  /** True if a call that repeats an earlier one is left out. */
  readonly dedup: boolean;
  /** The most calls of a choice; 0: no limit. */
  readonly max: number;
  readonly stopAfter: boolean;
  readonly stopMode: StopMode;
  readonly graceMs: number;
  /** True if text after the last call of a choice is left out. */
  readonly suppressTail: boolean;
};
