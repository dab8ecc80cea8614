import type { Body } from "../support/fake-upstream.ts";
import { geminiChunk, geminiFrame } from "../support/fake-gemini.ts";
import { failure, type Choice, type WireModel } from "./backend.ts";
import { stopOf, type Heard, type Offered } from "./heard.ts";
import { COUNTS } from "./scenario.ts";

const stops = { end: "STOP", calls: "STOP", length: "MAX_TOKENS", filter: "SAFETY" };
const error = { code: 503, status: "UNAVAILABLE", message: failure.message };

const pieces = (text = ""): string[] => text.match(/[^]{1,5}/gu) ?? [];

function chosen(config: Body = {}): Heard["choice"] {
  const { mode, allowedFunctionNames: names } = config as { mode?: string } & Body;
  if (mode === "NONE") return "none";
  if (mode !== "ANY") return "auto";
  return names === undefined ? "required" : { name: (names as string[])[0] ?? "" };
}

const callParts = ({ called }: Choice): Body[] =>
  called.map(({ id, name, input }, at) => ({
    functionCall: { id, name, args: JSON.parse(input) as unknown },
    ...(at === 0 && { thoughtSignature: "c2lnbmVk" }),
  }));

const partsOf = (choice: Choice): Body[] => [
  ...(choice.reasoning === undefined ? [] : [{ text: choice.reasoning, thought: true }]),
  ...(choice.text === undefined ? [] : [{ text: choice.text }]),
  ...callParts(choice),
];

const chunksOf = (choice: Choice, index: number): Body[] => [
  ...pieces(choice.reasoning).map((text) => geminiChunk([{ text, thought: true }], "", index)),
  ...pieces(choice.text).map((text) => geminiChunk([{ text }], "", index)),
  ...callParts(choice).map((part) => geminiChunk([part], "", index)),
  geminiChunk([{ text: "" }], stops[stopOf(choice)], index),
];

export const geminiWire: WireModel = {
  dialect: "gemini",
  can: ["choices"],
  heard: ({ path, body }) => ({
    model: /\/models\/([^:]+):/.exec(path)?.[1] ?? "",
    stream: path.includes(":streamGenerateContent?alt=sse"),
    tools: ((body["tools"] ?? []) as Body[])
      .flatMap(({ functionDeclarations }) => (functionDeclarations ?? []) as Body[])
      .map(({ name, parametersJsonSchema }): Offered => ({
        kind: "function",
        name: name as string,
        schema: parametersJsonSchema as Body,
      })),
    choice: chosen((body["toolConfig"] as Body | undefined)?.["functionCallingConfig"] as Body),
    schema: (body["generationConfig"] as Body | undefined)?.["responseJsonSchema"] as Body,
  }),
  whole: (choices) => ({
    candidates: choices.map((choice, index) => ({
      content: { role: "model", parts: partsOf(choice) },
      finishReason: stops[stopOf(choice)],
      index,
    })),
    usageMetadata: {
      promptTokenCount: COUNTS.input,
      candidatesTokenCount: COUNTS.output,
      totalTokenCount: COUNTS.input + COUNTS.output,
    },
    modelVersion: "m",
    responseId: "r1",
  }),
  stream: (choices) => choices.flatMap(chunksOf).map(geminiFrame),
  begin: (text) => [geminiFrame(geminiChunk([{ text }]))],
  error: {
    body: { error },
    // As Google writes it: no frame, and in several lines.
    frames: [`${JSON.stringify({ error }, undefined, 2)}\n`],
  },
};
