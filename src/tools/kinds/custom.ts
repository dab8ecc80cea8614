import { isFields } from "../../json/json.ts";
import type { Fields } from "../../turn/turn.ts";
import { unwrapText } from "./unwrap.ts";
import type { Kind } from "./kind.ts";

const KEY = "input";

/** Free text, perhaps under a grammar: a function with one text parameter stands in. */
export const customKind: Kind = {
  kind: "custom",
  standIn: {
    declare(tool) {
      const grammar = tool.type === "custom" ? grammarOf(tool.format) : undefined;
      const described = tool.type === "builtin" ? undefined : tool.description;
      const how = `Put the whole input, as plain text, in \`${KEY}\`.`;
      return {
        description: [described, how, grammar].filter(Boolean).join("\n\n"),
        schema: {
          type: "object",
          properties: { [KEY]: { type: "string", description: "The whole input of the tool." } },
          required: [KEY],
          additionalProperties: false,
        },
        losses: grammar === undefined ? [] : ["its grammar is described, not enforced"],
      };
    },
    encode: (input) => JSON.stringify({ [KEY]: input }),
    decoder: () => unwrapText(KEY),
  },
};

/** The grammar in words. The dialects disagree on whether it stands in a group of its own. */
function grammarOf(format: Fields | undefined): string | undefined {
  if (format?.type !== "grammar") return undefined;
  const { syntax, definition } = isFields(format.grammar) ? format.grammar : format;
  const kind = typeof syntax === "string" ? `${syntax} ` : "";
  return `The input must match this ${kind}grammar:\n${String(definition)}`;
}
