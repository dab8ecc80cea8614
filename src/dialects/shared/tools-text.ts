/** Puts the text of a client's tools into a request body without writing it anew. */

import { memoizeByIdentity } from "../../turn/memoize.ts";
import type { Fields } from "../../turn/turn.ts";

/** A body with its tools put in as the text they were written in: they are by far the longest part. */
export const withTools = (body: Fields, tools: string): string =>
  `${JSON.stringify(body).slice(0, -1)},"tools":${tools}}`;

/** The same with the tools as the client sent them. */
export function withOwnTools(body: Fields, tools: unknown): string {
  if (!Array.isArray(tools)) return JSON.stringify({ ...body, tools });
  return withTools(body, listText(tools));
}

const listText = memoizeByIdentity((list: readonly unknown[]): string => JSON.stringify(list));
