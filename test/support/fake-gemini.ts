import { slices, wantedCalls, type FakeAnswer } from "./fake-model.ts";
import {
  json,
  sse,
  type Answer,
  type Body,
  type Model,
  type ReceivedRequest,
} from "./fake-upstream.ts";

const usageMetadata = { promptTokenCount: 11, candidatesTokenCount: 7, totalTokenCount: 18 };
const HEAD = { modelVersion: "fake-1", responseId: "gemini-fake" };
/** The answer to every `countTokens`. */
const COUNTED = 31;

/** The signature of a part, as an upstream of this name would make it. */
const signatureOf = (id: string): string => Buffer.from(`signed ${id}`).toString("base64");

/** Says it in the Gemini dialect: as SSE, as a JSON array or whole, as the path asks. */
export function answerInGemini(path: string, ...says: readonly FakeAnswer[]): Answer {
  return answerWithParts(
    path,
    ...says.map((say) => ({ parts: partsOf(say), stop: finishOf(say) })),
  );
}

/** One candidate of an answer, with its parts as they stand in a whole answer. */
export type SaidParts = { readonly parts: readonly Body[]; readonly stop?: string };

/** The same for parts as they stand in a whole answer. */
export function answerWithParts(path: string, ...said: readonly SaidParts[]): Answer {
  const whole = {
    candidates: said.map(({ parts, stop = "STOP" }, index) => ({
      content: { parts, role: "model" },
      finishReason: stop,
      index,
    })),
    usageMetadata,
    ...HEAD,
  };
  if (!path.includes(":streamGenerateContent")) return json(whole);
  const chunks = said.flatMap(({ parts, stop = "STOP" }, index) => chunksOf(parts, stop, index));
  if (/[?&]alt=sse(?:&|$)/.test(path)) return sse(...chunks.map(geminiFrame));
  return json(`[${chunks.map((chunk) => JSON.stringify(chunk)).join("\n,\r\n")}\n]`);
}

/** A frame as Google writes it. */
export const geminiFrame = (value: unknown): string => `data: ${JSON.stringify(value)}\r\n\r\n`;

/** A chunk of a stream with these parts. */
export const geminiChunk = (parts: readonly Body[], finishReason?: string, index = 0): Body => ({
  candidates: [{ content: { parts, role: "model" }, ...(finishReason && { finishReason }), index }],
  usageMetadata,
  ...HEAD,
});

/** Text comes in pieces, every other part in a chunk of its own, and the reason in a last one. */
function chunksOf(parts: readonly Body[], finishReason: string, index: number): Body[] {
  const pieces = parts.flatMap(({ text, thoughtSignature, ...rest }): Body[] => {
    const signed =
      thoughtSignature === undefined ? {} : { thoughtSignature: thoughtSignature as string };
    if (typeof text !== "string") return [{ ...rest, ...signed }];
    const said: Body[] = slices(text).map((piece) => Object.assign({ text: piece }, rest));
    return thoughtSignature === undefined ? said : [...said, { text: "", ...rest, ...signed }];
  });
  return [
    ...pieces.map((part) => geminiChunk([part], undefined, index)),
    geminiChunk([{ text: "" }], finishReason, index),
  ];
}

const finishOf = ({ stop, refusal }: FakeAnswer): string =>
  stop === "length" ? "MAX_TOKENS" : refusal === undefined ? "STOP" : "SAFETY";

/** The first call of an answer is signed; without calls, the text after a thought is. */
export function partsOf({ text, refusal, reasoning, calls = [] }: FakeAnswer): Body[] {
  const said = text ?? refusal;
  const signsText = reasoning !== undefined && calls.length === 0;
  const all = [
    ...(reasoning === undefined ? [] : [{ text: reasoning, thought: true }]),
    ...(said === undefined
      ? []
      : [{ text: said, ...(signsText && { thoughtSignature: signatureOf("text") }) }]),
    ...calls.map(({ id, name, arguments: input }, at) => ({
      functionCall: { id, name, args: JSON.parse(input) as unknown },
      ...(at === 0 && { thoughtSignature: signatureOf(id) }),
    })),
  ];
  return all.length > 0 ? all : [{ text: "" }];
}

const callIds: ReadonlyMap<string, string> = new Map(wantedCalls.map(({ id, name }) => [name, id]));

/** The results of a request, by the call they answer; one without an id by the name of its function. */
export const geminiResults = (body: Body): Map<string, string> =>
  new Map(
    (body["contents"] as Body[])
      .flatMap(({ parts }) => parts as Body[])
      .flatMap(({ functionResponse }): [string, string][] => {
        if (functionResponse === undefined) return [];
        const { id, name, response } = functionResponse as Body;
        const said = (response?.output ?? response?.result ?? response?.content) as unknown;
        return [
          [
            (id ?? callIds.get(name as string)) as string,
            typeof said === "string" ? said : JSON.stringify(response),
          ],
        ];
      }),
  );

/** A model of the whole API: answers, counts tokens and lists itself. */
export const geminiModel =
  (say: (request: ReceivedRequest, index: number) => FakeAnswer): Model =>
  (request, index) => {
    const { path, method } = request;
    if (method === "GET")
      return path.includes("/models/") ? json(model) : json({ models: [model] });
    if (path.includes(":countTokens")) return json({ totalTokens: COUNTED });
    return answerInGemini(path, say(request, index));
  };

const model = {
  name: "models/fake-1",
  version: "1",
  displayName: "Fake 1",
  inputTokenLimit: 1_048_576,
  outputTokenLimit: 65_536,
  supportedGenerationMethods: ["generateContent", "countTokens"],
};
