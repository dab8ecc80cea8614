import { memoizeByIdentity } from "../../turn/memoize.ts";
import { clientName } from "../../turn/names.ts";
import type { SharedText } from "../../turn/shared-text.ts";
import type { Callable, Extra, Fields, Tool } from "../../turn/turn.ts";
import { responsesForm } from "../shared/openai-form.ts";
import { readTool, toolsReader, toolsWriter, writeTool } from "../shared/openai-tools.ts";
import { silently } from "./items.ts";

export const readTools = toolsReader("tools", (raw, path, repair) =>
  readTool(raw, path, responsesForm, repair),
);

/** The tools as JSON text for a request of a client of this dialect. */
export const ownToolsText = toolsWriter(responsesForm);
/** The same for a client of another: functions are strict by default here and nowhere else. */
export const othersToolsText = toolsWriter(responsesForm, false);

/** The tools as an answer repeats them. */
export const echoText = memoizeByIdentity((tools: readonly Tool[]): SharedText => {
  const to = { form: responsesForm, strict: true, echo: true, report: silently };
  return { text: JSON.stringify(tools.flatMap((tool) => writeTool(tool, to) ?? [])) };
});

const searchExtra = (fields: Fields): Extra => ({ dialect: "responses", fields });

/** A search for tools that the client runs. The provider loads the tools that its result brings. */
export const clientToolSearch = {
  declaration: (description: string, parameters: Fields): Callable => ({
    type: "builtin",
    kind: "tool_search",
    name: clientName("tool_search"),
    dialect: "responses",
    raw: { type: "tool_search", execution: "client", description, parameters },
  }),
  /** Marks a call. Without it the provider runs the search itself. */
  call: searchExtra({ execution: "client" }),
  result: searchExtra({ execution: "client", status: "completed" }),
  /** Marks a tool that the provider loads when a search has found it. */
  foundTool: searchExtra({ defer_loading: true }),
};
