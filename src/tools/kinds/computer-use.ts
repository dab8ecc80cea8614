import type { Kind } from "./kind.ts";

/**
 * Clicks and keys on a screen. It takes a model trained for it, which the
 * provider answers for; a function in its place would promise what is not there.
 */
export const computerUseKind: Kind = {
  kind: "computer_use",
  aliases: /^computer(_use)?(_preview)?(_\d{4}_\d{2}_\d{2})?$/,
};
