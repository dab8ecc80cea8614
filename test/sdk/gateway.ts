import OpenAI from "openai";
import { missing as codexIsMissing, openCodex } from "../codex-upstream/gateway.ts";
import { geminiResults, partsOf } from "../support/fake-gemini.ts";
import { modelIn, responsesToolLoop } from "../support/fake-dialects.ts";
import { toolLoop, wantedCalls } from "../support/fake-model.ts";
import { fakeUpstream, type FakeUpstream, type ReceivedRequest } from "../support/fake-upstream.ts";
import { onto, serve, type Served } from "../support/serve.ts";
import { signingGemini } from "../support/signing-gemini.ts";

/** What the gateway stands in front of. */
export type Backend = "chat" | "responses" | "messages" | "gemini" | "demo" | "codex";
export const backends: readonly Backend[] = [
  "chat",
  "responses",
  "messages",
  "gemini",
  "demo",
  ...(codexIsMissing ? [] : (["codex"] as const)),
];

export type SdkGateway = AsyncDisposable & {
  readonly back: Backend;
  readonly served: Served;
  /** What a fake upstream was asked; the demo tells nobody. */
  readonly requests: readonly ReceivedRequest[];
  readonly client: OpenAI;
};

/** A gateway before a model that makes two calls at once and then tells what they said. */
export async function openGatewayOn(back: Backend): Promise<SdkGateway> {
  if (back === "codex") {
    const codex = await openCodex(responsesToolLoop);
    return { ...codex, back, requests: codex.model.requests };
  }
  const upstream = await openUpstream(back);
  const config = upstream === undefined || back === "demo" ? {} : onto(back, upstream.url);
  const served = await serve(config);
  return {
    back,
    served,
    requests: upstream?.requests ?? [],
    client: clientOf(served),
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]();
      await upstream?.[Symbol.asyncDispose]();
    },
  };
}

/** The fake model of a dialect. Gemini's refuses what its API refuses. */
async function openUpstream(back: Exclude<Backend, "codex">): Promise<FakeUpstream | undefined> {
  if (back === "demo") return undefined;
  if (back !== "gemini") return fakeUpstream(modelIn(back, toolLoop));
  const { upstream } = await signingGemini((contents) =>
    partsOf({ reasoning: "Hm.", ...toolLoop(geminiResults({ contents })) }),
  );
  return upstream;
}

export const clientOf = (served: Pick<Served, "url">): OpenAI =>
  new OpenAI({ baseURL: `${served.url}/v1`, apiKey: "unused", maxRetries: 0 });

export const question =
  "What is the weather in Paris, in degrees Celsius, and what time is it in Tokyo?";

export type ToolName = (typeof wantedCalls)[number]["name"];
type ObjectSchema = {
  type: "object";
  properties: Record<string, { type: "string"; enum?: string[] }>;
  required: string[];
  additionalProperties: false;
};

/** The tools of the question, as JSON Schema. */
export const schemas: Readonly<Record<ToolName, ObjectSchema>> = {
  get_weather: {
    type: "object",
    properties: { city: { type: "string" }, unit: { type: "string", enum: ["°C", "°F"] } },
    required: ["city", "unit"],
    additionalProperties: false,
  },
  get_time: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  },
};
export const toolNames = Object.keys(schemas) as ToolName[];

export const results = { get_weather: "21 °C, sunny", get_time: "09:41" } as const;

/** What the fake models say once they have the results. */
export const finalText = "get_weather said 21 °C, sunny, get_time said 09:41.";

/** The tools' end: keeps what they were called with. */
export type Toolbox = {
  readonly called: { readonly name: ToolName; readonly input: unknown }[];
  run(name: ToolName, input: unknown): string;
};

export function toolbox(): Toolbox {
  const called: Toolbox["called"] = [];
  return {
    called,
    run(name, input) {
      called.push({ name, input });
      return results[name];
    },
  };
}

/** What the tools are called with by the fake models. */
export const wantedInputs = wantedCalls.map(({ name, arguments: input }) => ({
  name,
  input: JSON.parse(input) as unknown,
}));
