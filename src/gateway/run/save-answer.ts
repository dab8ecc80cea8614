import type { TurnDone } from "../../observe/happening.ts";
import { saveCompletion } from "../history/completion.ts";
import { conversationEntry, storedPart, type HeldConversation } from "../history/conversation.ts";
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
