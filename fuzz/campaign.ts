import type * as fc from "fast-check";

/** Inputs to try, and the laws that must hold for each. */
export type Campaign = {
  /** Run one after the other. */
  readonly properties: readonly Property[];
  readonly close?: () => Promise<void>;
};

export type Property = {
  readonly name: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- each property has inputs of its own
  readonly property: fc.IRawProperty<any>;
};
