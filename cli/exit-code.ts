/** How commands that look at a gateway end; scripts go by it. */
export const exitCode = {
  /** All is well. */
  well: 0,
  /** Something is wrong with what was looked at. */
  wrong: 1,
  /** The command was misused. */
  misuse: 2,
  /** No gateway answers. */
  nobody: 3,
} as const;
