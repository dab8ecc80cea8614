import type { CompletionForm } from "../../dialects/dialect.ts";
import { noStore } from "../../history/none.ts";
import type { TurnDone } from "../../observe/happening.ts";
import type { GatewayState } from "../state.ts";
import type { Run } from "../run/run.ts";

/** What keeps the answer to a turn as a completion, where its client wants that. */
export const completionFor = (
  { store }: Pick<GatewayState, "store">,
  { dialect, turn }: Pick<Run, "dialect" | "turn">,
): CompletionForm | undefined =>
  store !== noStore && dialect.completions?.isWanted(turn) === true
    ? dialect.completions
    : undefined;

/** Keeps a completion that has ended, with the messages that were sent for it. */
export async function saveCompletion(run: Run, { outcome }: TurnDone): Promise<void> {
  const { tenant, turn, completion: form } = run;
  const hasEnded = outcome === "completed" || outcome === "incomplete";
  const text = form === undefined || !hasEnded ? undefined : run.wholeAnswer();
  const completion = text === undefined ? undefined : form?.completionIn(text, turn.body);
  if (form === undefined || completion === undefined) return;
  const id = run.answerId;
  const items = form.messagesIn(turn.body, id);
  const json = JSON.stringify(completion);
  await run.state.store.conversations.createConversation({ tenant, id, json, items });
}
