import type { TurnDone } from "../telemetry/happening.ts";
import type { Answer } from "./answer.ts";
import { saveCompletion } from "./completion.ts";
import { addTurn, storedPart } from "./conversation.ts";
import { saveTurn, type AnswerLeft } from "./save-turn.ts";
import type { GatewayState } from "./state.ts";
import type { Job } from "./turn-run.ts";

type Ended = {
  readonly answer: Answer | undefined;
  readonly done: TurnDone;
  readonly left: AnswerLeft | undefined;
};

/** Writes what a turn leaves behind to all that keep something of it. Resolves to whether it is stored. */
export async function saveAnswer(
  state: GatewayState,
  job: Job,
  { answer, done, left }: Ended,
): Promise<boolean> {
  const { tenant, conversation } = job;
  if (conversation === undefined) {
    // Begun before anything is waited for: whoever stops waits for what is queued.
    const saving = saveTurn(state, tenant, done, left);
    if (answer !== undefined) await saveCompletion(state, job, answer, done);
    return saving;
  }
  const stored = await saveTurn(state, tenant, done, storedPart(job, left));
  await addTurn(conversation, left, done);
  return stored;
}
