import { Fault } from "../turn/fault.ts";

/** `did` is what the upstream did that no answer is made of. */
export const malformed = (did: string): Fault =>
  new Fault(
    "upstream.malformed",
    `The upstream ${did}. Check that its \`base_url\` and \`dialect\` are right, or try again.`,
  );

/** A call that nobody can answer. */
export const nameless = (): Fault =>
  new Fault("upstream.malformed", "The upstream called a tool without naming it; try again.");
