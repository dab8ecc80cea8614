/** Faults for upstream answers that cannot be read. */

import { Fault } from "../../turn/fault.ts";

/** `did` is what the upstream did that no answer is made of. */
export const malformed = (did: string): Fault =>
  new Fault(
    "upstream.malformed",
    `The upstream ${did}. Check that its \`base_url\` and \`dialect\` are right, or try again.`,
  );

/** A call that nobody can answer. */
export const nameless = (): Fault =>
  new Fault("upstream.malformed", "The upstream called a tool without naming it; try again.");

/** Whether a frame only keeps the connection open: it has a name, and what belongs to an answer is an object. */
export const isBeat = (data: string, name: string | undefined): boolean =>
  name !== undefined && name !== "error" && !data.trimStart().startsWith("{");
