import type { CompletionForm } from "../../dialects/dialect.ts";
import { noStore } from "../../history/none.ts";
import type { TurnDone } from "../../observe/happening.ts";
import type { Answer } from "../run/running-answer.ts";
import type { GatewayState } from "../state.ts";
import type { Job } from "../run/turn-run.ts";

/** What keeps the answer to a turn as a completion, where its client wants that. */
export const completionFor = (
  { store }: Pick<GatewayState, "store">,
  { dialect, turn }: Pick<Job, "dialect" | "turn">,
): CompletionForm | undefined =>
  store !== noStore && dialect.completions?.isWanted(turn) === true
    ? dialect.completions
    : undefined;

/** Keeps a completion that has ended, with the messages that were sent for it. */
export async function saveCompletion(
  { store }: Pick<GatewayState, "store">,
  { tenant, turn, completion: form }: Job,
  answer: Pick<Answer, "id" | "whole">,
  { outcome }: TurnDone,
): Promise<void> {
  const hasEnded = outcome === "completed" || outcome === "incomplete";
  const text = form === undefined || !hasEnded ? undefined : answer.whole();
  const completion = text === undefined ? undefined : form?.completionIn(text, turn.body);
  if (form === undefined || completion === undefined) return;
  const id = answer.id();
  const items = form.messagesIn(turn.body, id);
  const json = JSON.stringify(completion);
  await store.conversations.createConversation({ tenant, id, json, items });
}
