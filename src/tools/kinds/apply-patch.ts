import { isFields, jsonOf } from "../../json/json.ts";
import { bareArguments, pick, whole, type Kind } from "./kind.ts";

const OPERATIONS = ["create_file", "update_file", "delete_file"];

/** One change to one file of the client's. */
export const applyPatchKind: Kind = {
  kind: "apply_patch",
  standIn: {
    declare: () => ({
      description:
        "Creates, updates or deletes a file of the user's. One call changes one file; make several calls for several files.",
      schema: {
        type: "object",
        properties: {
          operation: {
            type: "object",
            properties: {
              type: { type: "string", enum: OPERATIONS },
              path: { type: "string", minLength: 1, description: "The file." },
              diff: {
                type: "string",
                description:
                  "The change as a V4A diff: for update_file, hunks that begin with @@ and whose lines begin with a space, - or +; for create_file, the content with + before every line. Left out for delete_file.",
              },
            },
            required: ["type", "path"],
            additionalProperties: false,
          },
        },
        required: ["operation"],
        additionalProperties: false,
      },
      losses: [],
    }),
    encode(input) {
      const operation = jsonOf(input);
      return isFields(operation) ? JSON.stringify({ operation }) : input;
    },
    decoder: () => whole(decode),
    answer({ parts, extra }) {
      const isFailed = extra?.fields.status === "failed";
      if (parts.length > 0 && !isFailed) return parts;
      const text = isFailed ? "The change failed." : "The change was made.";
      return [{ type: "text", text }, ...parts];
    },
  },
};

function decode(text: string): string {
  const value = jsonOf(bareArguments(text));
  if (!isFields(value)) return text;
  const inner = typeof value.operation === "string" ? jsonOf(value.operation) : value.operation;
  const operation = isFields(inner) ? inner : value;
  const { type, path } = operation;
  if (!OPERATIONS.includes(String(type)) || typeof path !== "string") return text;
  return JSON.stringify(pick(operation, ["type", "path", "diff"]));
}
