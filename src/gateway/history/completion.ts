import type { CompletionForm, DoorDialect } from "../../dialects/dialect.ts";
import type { Turn } from "../../turn/turn.ts";
import { noStore } from "../../history/none.ts";
import type { GatewayState } from "../state.ts";

/** What keeps the answer to a turn as a completion, where its client wants that. */
export const completionFor = (
  { store }: Pick<GatewayState, "store">,
  { dialect, turn }: { readonly dialect: DoorDialect; readonly turn: Turn },
): CompletionForm | undefined =>
  store !== noStore && dialect.completions?.isWanted(turn) === true
    ? dialect.completions
    : undefined;
