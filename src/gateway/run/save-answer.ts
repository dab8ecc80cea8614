import type { TurnDone } from "../../observe/happening.ts";
import type { Answer } from "./running-answer.ts";
import { saveCompletion } from "../history/completion.ts";
import { conversationEntry, storedPart, type HeldConversation } from "../history/conversation.ts";
import { saveTurn, type AnswerLeft, type Saving } from "./save-turn.ts";
import type { GatewayState } from "../state.ts";
import type { Job } from "./turn-run.ts";

type Ended = {
  readonly answer: Answer | undefined;
  readonly done: TurnDone;
  readonly left: AnswerLeft | undefined;
};

/** Writes what a turn leaves behind to all that keep something of it. Says whether it is stored. */
export function saveAnswer(state: GatewayState, job: Job, ended: Ended): Saving {
  const { tenant, conversation, completion } = job;
  const { answer, done, left } = ended;
  if (conversation !== undefined) return saveInConversation(state, job, { ...ended, conversation });
  const saving = saveTurn(state, tenant, done, left);
  if (answer === undefined || completion === undefined) return saving;
  // A completion that is deleted as soon as it is stored leaves no later write of its turn.
  return Promise.resolve(saving).then(async (saved) => {
    await saveCompletion(state, job, answer, done);
    return saved;
  });
}

async function saveInConversation(
  state: GatewayState,
  job: Job,
  { done, left, conversation }: Ended & { readonly conversation: HeldConversation },
): Promise<boolean> {
  const entry = conversationEntry(conversation, left, done);
  const stored = await saveTurn(state, job.tenant, done, storedPart(job, left), entry);
  await conversation.release();
  return stored;
}
