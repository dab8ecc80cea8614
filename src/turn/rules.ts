/** How calls are shown: as the API has them alone, or as text blocks beside that. */
export type OutputMode = "openai-json" | "obsidian-xml";

/** When a turn is stopped after its calls: behind the first, or once no more follow for a while. */
export type StopMode = "first" | "burst";

/** What the gateway asks of the calls in an answer, whoever gives it. */
export type CallRules = {
  /** None chosen: an answer shows what the model said, as it said it. */
  readonly output?: OutputMode | undefined;
  /** What stands between two blocks of text. */
  readonly delimiter: string;
  /** Whether calls that a model writes in its text are taken for calls; undefined: as its profile says. */
  readonly textCalls?: boolean | undefined;
  /**
   * Whether a model may make several calls at once. `unrequested`: it is not asked
   * for several, and the client receives those that it makes all the same.
   */
  readonly parallel: boolean | "unrequested";
  /** Whether a call that repeats an earlier one is left out. */
  readonly dedup: boolean;
  /** How many calls a choice may have; 0: as many as it likes. */
  readonly max: number;
  readonly stopAfter: boolean;
  readonly stopMode: StopMode;
  readonly graceMs: number;
  /** Whether text behind the last call of a choice is left out. */
  readonly suppressTail: boolean;
};
