import { clientName } from "../../turn/names.ts";
import type { Callable, Extra, Fields } from "../../turn/turn.ts";

const extra = (fields: Fields): Extra => ({ dialect: "responses", fields });

/** A search for tools that the client runs. The provider loads the tools that its result brings. */
export const clientToolSearch = {
  declaration: (description: string, parameters: Fields): Callable => ({
    type: "builtin",
    kind: "tool_search",
    name: clientName("tool_search"),
    dialect: "responses",
    raw: { type: "tool_search", execution: "client", description, parameters },
  }),
  /** Marks a call. Without it the provider takes the search for one of its own. */
  call: extra({ execution: "client" }),
  result: extra({ execution: "client", status: "completed" }),
  /** Marks a tool that the provider loads when a search has found it. */
  foundTool: extra({ defer_loading: true }),
};
