/** The ways of asking for a burst of calls that `patchbay smoke` tries. */

import type { OutputMode } from "../../src/inspection.ts";
import type { DialectName, Fields } from "../../src/terminal.ts";
import { clientOf, clients } from "./clients.ts";

/** One way of asking for a burst of calls. */
export type Scene = {
  readonly door: DialectName;
  readonly stream: boolean;
  readonly output: OutputMode;
};

/** Every way there is; each stream stands beside the whole answer it must agree with. */
export const scenes: readonly Scene[] = clients.flatMap(({ door }) =>
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

/** What every burst is asked with. */
export const tool = {
  name: "get_weather",
  description: "The weather of one city, now. For several cities call it several times at once.",
  parameters: schema,
};

/** Asks for so many things that any model which can will make as many calls in one turn. */
export function prompt(count: number): string {
  const asked = cities.slice(0, count).map((city) => `in ${city}`);
  if (count === 1) return `What is the weather ${asked[0]}? Call the tool before you answer.`;
  const list = `${asked.slice(0, -1).join(", ")} and ${asked.at(-1)}`;
  return `What is the weather ${list}? Call the tool once for each city, with all ${count} calls at once and before you answer.`;
}

/** The body that asks for a burst. */
export function bodyFor({ door, stream }: Scene, model: string, count: number): Fields {
  return clientOf(door).body({ model, stream, prompt: prompt(count), tool });
}
