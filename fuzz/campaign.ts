import type * as fc from "fast-check";

/** What a campaign tries, and how it looks at what comes of it. */
export type Campaign = {
  /** Each is tried in turn; a property that fails is shrunk. */
  readonly properties: readonly Property[];
  readonly close?: () => Promise<void>;
};

export type Property = {
  readonly name: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- each property has inputs of its own
  readonly property: fc.IRawProperty<any>;
};
