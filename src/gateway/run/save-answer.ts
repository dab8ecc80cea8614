import type { ConversationEntry } from "../../history/store.ts";
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
  const saving = saveTurn(state, tenant, done, left);
  if (run.rounds === 0 || completion === undefined) return saving;
  // A completion that is deleted as soon as it is stored leaves no later write of its turn.
  return Promise.resolve(saving).then(async (saved) => {
    await saveCompletion(run, done);
    return saved;
  });
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

/** Keeps a completion that has ended, with the messages that were sent for it. */
async function saveCompletion(run: Run, { outcome }: TurnDone): Promise<void> {
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
