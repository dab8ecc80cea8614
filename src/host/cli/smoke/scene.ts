import type { BuiltinDialectName } from "../../../dialects/registry.ts";
import type { OutputMode } from "../../../turn/rules.ts";
import type { Fields } from "../../../turn/turn.ts";

/** Those that this client speaks. */
export type DoorName = BuiltinDialectName;

/** One way of asking for a burst of calls. */
export type Scene = {
  readonly door: DoorName;
  readonly stream: boolean;
  readonly output: OutputMode;
};

/** Every way there is; each stream stands beside the whole answer it must agree with. */
export const scenes: readonly Scene[] = (["chat", "responses"] as const).flatMap((door) =>
  (["openai-json", "obsidian-xml"] as const).flatMap((output) =>
    [true, false].map((stream) => ({ door, stream, output })),
  ),
);

export const sceneName = ({ door, stream, output }: Scene): string =>
  `${door} ${stream ? "stream" : "whole"} ${output}`;

/** Two of the names are beyond ASCII, so that what mangles those shows. */
const cities = [
  "Paris",
  "Zürich",
  "Tokyo",
  "Malmö",
  "Lima",
  "Oslo",
  "Cairo",
  "Delhi",
  "Sydney",
  "Toronto",
  "Nairobi",
  "Lisbon",
] as const;
/** How many calls can be asked for. */
export const mostAsked = cities.length;

/** What a call's arguments must be. */
export const schema: Fields = {
  type: "object",
  properties: { city: { type: "string", description: "The name of the city" } },
  required: ["city"],
  additionalProperties: false,
};

const tool = {
  name: "get_weather",
  description: "The weather of one city, now. For several cities call it several times at once.",
  parameters: schema,
};

/** Asks for so many things that any model which can will make as many calls in one turn. */
function prompt(count: number): string {
  const asked = cities.slice(0, count).map((city) => `in ${city}`);
  const list = `${asked.slice(0, -1).join(", ")} and ${asked.at(-1)}`;
  return `What is the weather ${list}? Call the tool once for each city, with all ${count} calls at once and before you answer.`;
}

/** The body that asks for a burst. */
export function bodyFor({ door, stream }: Scene, model: string, count: number): Fields {
  const asked = prompt(count);
  if (door === "responses")
    return { model, stream, store: false, input: asked, tools: [{ type: "function", ...tool }] };
  return {
    model,
    stream,
    ...(stream && { stream_options: { include_usage: true } }),
    messages: [{ role: "user", content: asked }],
    tools: [{ type: "function", function: tool }],
  };
}
