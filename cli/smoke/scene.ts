/** The requests of `patchbay smoke`: every way to ask for a burst of calls. */

import type { OutputMode } from "../../src/inspection.ts";
import type { Fields } from "../../src/terminal.ts";

/** Two of the names are beyond ASCII, so that a gateway that mangles those is found. */
const cities = "Paris Zürich Tokyo Malmö Lima Oslo Cairo Delhi Sydney Toronto Nairobi Lisbon".split(
  " ",
);

/** The largest burst that can be asked for. */
export const mostAsked = cities.length;

const parameters: Fields = {
  type: "object",
  properties: { city: { type: "string", description: "The name of the city" } },
  required: ["city"],
  additionalProperties: false,
};

export const weatherTool = {
  name: "get_weather",
  description: "The weather of one city, now. For several cities call it several times at once.",
  parameters,
};

/** The fields of a request beside its model, by the dialects of clients. */
const bodies = {
  chat: (text: string, stream: boolean): Fields => ({
    stream,
    ...(stream && { stream_options: { include_usage: true } }),
    messages: [{ role: "user", content: text }],
    tools: [{ type: "function", function: weatherTool }],
  }),
  responses: (text: string, stream: boolean): Fields => ({
    stream,
    store: false,
    input: text,
    tools: [{ type: "function", ...weatherTool }],
  }),
  messages: (text: string, stream: boolean): Fields => ({
    stream,
    max_tokens: 4096,
    messages: [{ role: "user", content: text }],
    tools: [
      { name: weatherTool.name, description: weatherTool.description, input_schema: parameters },
    ],
  }),
  gemini: (text: string): Fields => {
    const { name, description } = weatherTool;
    return {
      contents: [{ role: "user", parts: [{ text }] }],
      tools: [{ functionDeclarations: [{ name, description, parametersJsonSchema: parameters }] }],
    };
  },
};

export type DoorName = keyof typeof bodies;

export type Scene = {
  readonly door: DoorName;
  readonly stream: boolean;
  readonly output: OutputMode;
};

export const scenes: readonly Scene[] = (Object.keys(bodies) as DoorName[]).flatMap((door) =>
  (["openai-json", "obsidian-xml"] as const).flatMap((output) =>
    [true, false].map((stream) => ({ door, stream, output })),
  ),
);

/** The request of a scene for a number of calls, without its model. */
export const bodyFor = ({ door, stream }: Scene, count: number): Fields =>
  bodies[door](prompt(count), stream);

/** A text that makes a model call the tool once for each of some cities. */
export function prompt(count: number): string {
  const asked = cities.slice(0, count).map((city) => `in ${city}`);
  if (count === 1) return `What is the weather ${asked[0]}? Call the tool before you answer.`;
  const list = `${asked.slice(0, -1).join(", ")} and ${asked.at(-1)}`;
  return `What is the weather ${list}? Call the tool once for each city, with all ${count} calls at once and before you answer.`;
}
