import { clientName } from "../../turn/names.ts";
import type { Callable, Extra, Fields } from "../../turn/turn.ts";

/** A search for tools that the client runs: the provider loads what its result brings. */
export const clientSearchTool = (description: string, parameters: Fields): Callable => ({
  type: "builtin",
  kind: "tool_search",
  name: clientName("tool_search"),
  dialect: "responses",
  raw: { type: "tool_search", execution: "client", description, parameters },
});

/** Who searches: without it the provider takes the search for one of its own. */
export const searchedByClient: Extra = {
  dialect: "responses",
  fields: { execution: "client" },
};

/** The same of the result of such a search. */
export const foundByClient: Extra = {
  dialect: "responses",
  fields: { execution: "client", status: "completed" },
};

/** Of a tool that the provider loads when a search has found it. */
export const loadedLater: Extra = { dialect: "responses", fields: { defer_loading: true } };
