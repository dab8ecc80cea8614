/** Requests and answers in the form from before `tools`: `functions` and `function_call`. */

import type { Fields } from "../../turn/turn.ts";

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

/** Whether the client declared its tools as `functions`, and expects calls in the form of then. */
export const declaresFunctions = ({ tools, functions }: Fields): boolean =>
  Array.isArray(functions) && functions.length > 0 && !isGiven(tools);

/** The fields of a request that are words from before there were `tools`, which many upstreams never knew. */
export const oldFields = (body: Fields): readonly string[] =>
  ["functions", "function_call"].filter((name) => isGiven(body[name]));
