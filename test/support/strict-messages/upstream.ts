import { answerWithBlocks } from "../fake-messages.ts";
import { json, type Answer, type Body } from "../fake-upstream.ts";
import { checkConversation } from "./conversation.ts";
import { strictModel } from "./models.ts";
import { Refused } from "./refuse.ts";
import { checkSettings } from "./settings.ts";
import { Signatures } from "./signatures.ts";
import { checkTools } from "./tools.ts";

/** Why Anthropic would refuse a request, in its words; undefined where it would not. */
export function refusalOf(body: Body, signatures = new Signatures()): string | undefined {
  try {
    const model = strictModel(String(body["model"]));
    checkSettings(body, model);
    checkConversation(body, model);
    checkTools(body, model);
    signatures.check(body, model);
    return undefined;
  } catch (error) {
    if (error instanceof Refused) return error.message;
    throw error;
  }
}

/** A block of an answer; a thought is signed by the upstream. */
export type SaidBlock = Body & { readonly type: string };

export type StrictMessages = {
  /** Answers as Anthropic would: 400 for a request against its rules, else what `say` gives. */
  answer(body: Body, say: () => readonly SaidBlock[], stop?: string): Answer;
  /** What was refused so far. */
  readonly refusals: readonly string[];
};

/** A Messages upstream that enforces what Anthropic does and signs what its models think. */
export function strictMessages(): StrictMessages {
  const signatures = new Signatures();
  const refusals: string[] = [];
  return {
    refusals,
    answer(body, say, stop) {
      const message = refusalOf(body, signatures);
      if (message === undefined) return answerWithBlocks(body, signed(body, say()), stop);
      refusals.push(message);
      return json({ type: "error", error: { type: "invalid_request_error", message } }, 400);
    },
  };
  function signed(request: Body, blocks: readonly SaidBlock[]): Body[] {
    const said: Body[] = [];
    for (const block of blocks) {
      const text = String(block["thinking"] ?? "");
      if (block.type === "thinking")
        said.push({
          type: "thinking",
          thinking: text,
          signature: signatures.sign(request, said, text),
        });
      else if (block.type === "redacted_thinking")
        said.push({ type: "redacted_thinking", data: signatures.sign(request, said, "") });
      else said.push(block);
    }
    return said;
  }
}
