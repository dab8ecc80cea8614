import { type Answer, burst, drip, httpChunk, wholeOf } from "./answers.ts";
import type { Scenario } from "./scenarios.ts";

const usageMetadata = { promptTokenCount: 400, candidatesTokenCount: 100, totalTokenCount: 500 };

/** The chunks that a scenario's model sends in Gemini's API, as JSON. A call is one whole part. */
export function geminiChunks({ id: modelVersion, reply, stream }: Scenario): string[] {
  const said = reply.fragments.join("");
  const texts = stream ? [...reply.fragments, ""] : [said];
  const parts =
    reply.type === "call"
      ? [
          {
            functionCall: { id: "call_bench", name: reply.name, args: JSON.parse(said) as unknown },
          },
        ]
      : texts.map((text) => ({ text }));
  return parts.map((part, at) => {
    const content = { parts: [part], role: "model" };
    const end = at === parts.length - 1 && { finishReason: "STOP" };
    const candidates = [{ content, ...end, index: 0 }];
    return JSON.stringify({ candidates, usageMetadata, modelVersion, responseId: "answer_bench" });
  });
}

/** The answer of a scenario's model in Gemini's API, made before the first request. */
export function geminiAnswerOf(scenario: Scenario): Answer {
  const pieces = geminiChunks(scenario).map((chunk) => httpChunk(`data: ${chunk}\r\n\r\n`));
  const stream = scenario.pace === "drip" ? drip(pieces) : burst(pieces);
  const [body = ""] = geminiChunks({ ...scenario, stream: false });
  return { whole: wholeOf(body), stream, counted: stream };
}
