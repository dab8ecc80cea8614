import { bareArguments, plainLine, whole, type Kind } from "./kind.ts";
import { isFields, jsonOf } from "../../json/json.ts";

/** A shell that stays open between commands, on the client's machine. */
export const bashKind: Kind = {
  kind: "bash",
  isDialectBound: true,
  standIn: {
    declare: () => ({
      description:
        "Runs a command in a bash session on the user's machine and gives back its output. The session keeps its state between calls.",
      schema: {
        type: "object",
        properties: {
          command: { type: "string", description: "The command to run." },
          restart: { type: "boolean", description: "True to start the session anew instead." },
        },
        additionalProperties: false,
      },
      losses: [],
    }),
    encode: (input) => input,
    decoder: () => whole(decode),
  },
};

function decode(text: string): string {
  const value = jsonOf(bareArguments(text));
  if (isFields(value)) return JSON.stringify(value);
  const command = typeof value === "string" ? value : plainLine(text);
  return command === undefined ? text : JSON.stringify({ command });
}
