import { bareArguments, whole, type Kind } from "./kind.ts";

const text = (description: string): object => ({ type: "string", description });

/** Files that the client keeps for the model from one conversation to the next. */
export const memoryKind: Kind = {
  kind: "memory",
  isDialectBound: true,
  standIn: {
    declare: () => ({
      description:
        "Reads and writes the files in `/memories`, which are kept from one conversation to the next. Look there before you begin, and note what will be needed later.",
      schema: {
        type: "object",
        properties: {
          command: {
            type: "string",
            enum: ["view", "create", "str_replace", "insert", "delete", "rename"],
            description: "What to do.",
          },
          path: text("The file or folder, beginning with /memories."),
          view_range: {
            type: "array",
            items: { type: "integer" },
            description: "For view: the first and the last line.",
          },
          file_text: text("For create: the whole content."),
          old_str: text("For str_replace: the text to replace."),
          new_str: text("For str_replace: what takes its place."),
          insert_line: { type: "integer", description: "For insert: the line to put it behind." },
          insert_text: text("For insert: the text."),
          old_path: text("For rename: the name it has."),
          new_path: text("For rename: the name it gets."),
        },
        required: ["command"],
        additionalProperties: false,
      },
      losses: [],
    }),
    encode: (input) => input,
    decoder: () => whole(bareArguments),
  },
};
