import type { Body } from "../support/fake-upstream.ts";
import { foldGemini, readGeminiBody, readGeminiStream } from "../support/gemini-reader.ts";
import { parameters, type Read, type TestDoor } from "./door.ts";

const modes = { none: "NONE", required: "ANY" } as const;

const configOf = (choice: "none" | "required" | { readonly name: string }): Body => ({
  functionCallingConfig:
    typeof choice === "object"
      ? { mode: "ANY", allowedFunctionNames: [choice.name] }
      : { mode: modes[choice] },
});

const stops: Readonly<Record<string, string>> = {
  STOP: "end",
  MAX_TOKENS: "length",
  SAFETY: "filter",
};

function readAnswer(body: Body): Read {
  const usage = body["usageMetadata"] as Body | undefined;
  return {
    choices: (body["candidates"] as Body[]).map((candidate) => {
      const { text, reasoning, calls, stop } = readGeminiBody({ ...body, candidates: [candidate] });
      return {
        text,
        reasoning,
        calls: calls.map(({ kind, name, input }) => ({ kind, name, input })),
        stop: calls.length > 0 && stop === "STOP" ? "calls" : (stops[stop] ?? stop),
      };
    }),
    usage: usage && {
      input: usage["promptTokenCount"],
      output: usage["candidatesTokenCount"],
    },
  };
}

const errorOf = (body: unknown): string => String((body as { error: Body }).error["message"]);

export const geminiDoor: TestDoor = {
  name: "gemini",
  can: new Set(["choices"]),
  request: ({ tools, choice, schema, n }, { model, stream }) => ({
    path: `/v1beta/models/${model}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
    body: {
      contents: [{ role: "user", parts: [{ text: "Go." }] }],
      ...(tools && {
        tools: [
          {
            functionDeclarations: tools.map(({ name }) => ({
              name,
              parametersJsonSchema: parameters,
            })),
          },
        ],
      }),
      ...(choice && { toolConfig: configOf(choice) }),
      generationConfig: {
        thinkingConfig: { includeThoughts: true },
        ...(n !== undefined && { candidateCount: n }),
        ...(schema && {
          responseMimeType: "application/json",
          responseJsonSchema: schema,
        }),
      },
    },
  }),
  readStream(text) {
    const { chunks, error } = readGeminiStream(text);
    if (error !== undefined) return { choices: [], error: error["message"] as string };
    return readAnswer(foldGemini(chunks));
  },
  readBody: (text) => readAnswer(JSON.parse(text) as Body),
  readError: (text) => errorOf(JSON.parse(text)),
};
