/** Time, passed in: pure rooms never ask the machine for it. */
export type Clock = {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls `then` at the moment; the returned function calls it off. */
  at(moment: number, then: () => void): () => void;
};

/** Makes an id with a prefix: `newId("call")` gives `call_` and 24 characters or so. */
export type NewId = (prefix: string) => string;
