import type { Fields } from "../../turn/turn.ts";

/** Why Codex did not do what was asked of it; `faults.ts` has what each means to a client. */
export type Cause =
  // The process cannot be started.
  | { readonly type: "no-command"; readonly command: string }
  | { readonly type: "foreign-home" }
  | { readonly type: "unwritable-home"; readonly code: string }
  | { readonly type: "too-old"; readonly version: string }
  | { readonly type: "signed-out" }
  | { readonly type: "not-started"; readonly file: string; readonly reason: string }
  | { readonly type: "unstartable"; readonly error: string }
  | { readonly type: "closing" }
  // The process was started.
  | { readonly type: "exited"; readonly reason: string }
  | { readonly type: "no-reply"; readonly method: string; readonly ms: number }
  | {
      readonly type: "rpc";
      readonly code: number;
      readonly message: string;
      readonly data?: Fields | undefined;
    }
  | { readonly type: "queue-full" }
  // A turn was started.
  | { readonly type: "turn-failed"; readonly error: Fields | undefined }
  | { readonly type: "offline"; readonly error: Fields | undefined; readonly started: boolean }
  | { readonly type: "no-content" }
  | { readonly type: "silent"; readonly ms: number }
  | { readonly type: "slow-client" };

/** What everything in this folder throws or rejects with. */
export class CodexError extends Error {
  override readonly name = "CodexError";
  readonly reason: Cause;

  constructor(reason: Cause, cause?: unknown) {
    super(reason.type, { cause });
    this.reason = reason;
  }
}
