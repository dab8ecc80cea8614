import type { CompletionForm } from "../../dialects/dialect.ts";
import type { ConversationEntry } from "../../history/log.ts";
import type { TurnDone } from "../../observe/happening.ts";
import type { HeldConversation } from "../history/conversation.ts";
import { answerLeft } from "./answer-left.ts";
import type { Run } from "./run.ts";
import { saveTurn, type AnswerLeft, type Saving } from "./save-turn.ts";

/** Writes what a turn leaves behind to all that keep something of it. Says whether it is stored. */
export function saveAnswer(run: Run, done: TurnDone): Saving {
  const { state, tenant, conversation, completion } = run;
  const left = answerLeft(run, done.outcome);
  if (conversation !== undefined) return saveInConversation(run, conversation, done, left);
  if (left === undefined || completion === undefined) return saveTurn(state, tenant, done, left);
  return saveTurn(state, tenant, done, { ...left, list: completionLeft(run, completion, done) });
}

async function saveInConversation(
  run: Run,
  conversation: HeldConversation,
  done: TurnDone,
  left: AnswerLeft | undefined,
): Promise<boolean> {
  const entry = conversationEntry(conversation, left, done);
  const stored = await saveTurn(run.state, run.tenant, done, storedPart(run, left), entry);
  await conversation.release();
  return stored;
}

/** What is stored of a turn by itself: its conversation takes it in also where its client wants nothing stored. */
const storedPart = (
  { dialect, turn, isPrivate }: Pick<Run, "dialect" | "turn" | "isPrivate">,
  left: AnswerLeft | undefined,
): AnswerLeft | undefined =>
  left === undefined || isPrivate || dialect.storage?.isWanted(turn) === true
    ? left
    : { ...left, items: [], response: undefined };

/** What a turn adds to its conversation, which takes in turns that have ended, and no others. */
function conversationEntry(
  { id, owner }: HeldConversation,
  left: AnswerLeft | undefined,
  { outcome }: Pick<TurnDone, "outcome">,
): ConversationEntry | undefined {
  const hasEnded = outcome === "completed" || outcome === "incomplete";
  const input = left?.response?.input;
  if (!hasEnded || left === undefined || input === undefined) return undefined;
  return { id, owner, items: [...input, ...left.items] };
}

/** A completion that has ended, with the messages that were sent for it. */
function completionLeft(run: Run, form: CompletionForm, { outcome }: TurnDone): AnswerLeft["list"] {
  const hasEnded = outcome === "completed" || outcome === "incomplete";
  const text = hasEnded ? run.wholeAnswer() : undefined;
  const { body } = run.turn;
  const completion = text === undefined ? undefined : form.completionIn(text, body);
  if (completion === undefined) return undefined;
  return { json: JSON.stringify(completion), items: form.messagesIn(body, run.answerId) };
}
