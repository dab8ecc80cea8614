import type { Fields } from "../turn/turn.ts";

/** Texts of lists that were forwarded before: agents send the same tools with every request. */
const known = new WeakMap<readonly unknown[], string>();

/** A body with its tools put in as the text they were written in: they are by far the longest part. */
export const withTools = (body: Fields, tools: string): string =>
  `${JSON.stringify(body).slice(0, -1)},"tools":${tools}}`;

/** The same with the tools as the client sent them. */
export function withOwnTools(body: Fields, tools: unknown): string {
  if (!Array.isArray(tools)) return JSON.stringify({ ...body, tools });
  const list: readonly unknown[] = tools;
  let text = known.get(list);
  if (text === undefined) known.set(list, (text = JSON.stringify(list)));
  return withTools(body, text);
}
