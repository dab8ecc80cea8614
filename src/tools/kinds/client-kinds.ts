import { bareArguments, whole, type Kind } from "./kind.ts";

const text = (description: string): object => ({ type: "string", description });

/** Views and edits files of the client's, one command at a time. */
export const textEditorKind: Kind = {
  kind: "text_editor",
  isDialectBound: true,
  standIn: {
    declare: () => ({
      description:
        "Views, creates and edits text files of the user's. `str_replace` changes the one place where `old_str` stands; `insert` puts `insert_text` behind the line `insert_line`.",
      schema: {
        type: "object",
        properties: {
          command: {
            type: "string",
            enum: ["view", "create", "str_replace", "insert"],
            description: "What to do.",
          },
          path: text("The file or, to view, the folder."),
          view_range: {
            type: "array",
            items: { type: "integer" },
            description: "For view: the first and the last line, -1 for the end.",
          },
          file_text: text("For create: the whole content."),
          old_str: text("For str_replace: the text to replace, as it stands in the file."),
          new_str: text("For str_replace: what takes its place."),
          insert_line: { type: "integer", description: "For insert: 0 for the beginning." },
          insert_text: text("For insert: the text."),
        },
        required: ["command", "path"],
        additionalProperties: false,
      },
      losses: [],
    }),
    encode: (input) => input,
    decoder: () => whole(bareArguments),
  },
};
