import { isFields, jsonOf } from "../../json/json.ts";
import { bareArguments, whole, type Kind } from "./kind.ts";

const QUERY = {
  type: "object",
  properties: {
    query: { type: "string", description: "What the tool should do." },
    limit: { type: "integer", minimum: 1, description: "How many tools to load at most." },
  },
  required: ["query"],
};

/** Loads further tools on demand. The client searches; what it finds is declared from then on. */
export const toolSearchKind: Kind = {
  kind: "tool_search",
  takesAnswer(text) {
    const found = jsonOf(text);
    return Array.isArray(found) && found.every(isFields);
  },
  standIn: {
    declare(tool) {
      const raw = tool.type === "builtin" ? tool.raw : {};
      const { description, parameters } = raw;
      return {
        description:
          typeof description === "string" && description !== ""
            ? description
            : "Searches for further tools and loads those it finds; they can be called afterwards.",
        schema: isFields(parameters) ? parameters : QUERY,
        losses: [],
      };
    },
    encode: (input) => input,
    // The client gets its arguments as a value, so nothing can be sent before they are complete.
    decoder: () => whole(bareArguments),
    answer: (_, brought) => [
      {
        type: "text",
        text:
          brought.length === 0
            ? "No tools were found."
            : `These tools were found and can be called from now on: ${brought.join(", ")}.`,
      },
    ],
  },
};
