import { isFields, jsonOf } from "../../json/json.ts";
import { bareArguments, inside, isTexts, pick, plainLine, whole, type Kind } from "./kind.ts";

const OPTIONS = ["timeout_ms", "max_output_length"];

/** Commands on the client's machine, each a line for its shell. */
export const shellKind: Kind = {
  kind: "shell",
  standIn: {
    declare: () => ({
      description: "Runs shell commands on the user's machine and gives back their output.",
      schema: {
        type: "object",
        properties: {
          commands: {
            type: "array",
            items: { type: "string" },
            minItems: 1,
            description: 'The command lines, such as ["ls -la", "git status"].',
          },
          timeout_ms: { type: "integer", minimum: 1, description: "When to give up." },
          max_output_length: {
            type: "integer",
            minimum: 1,
            description: "How many characters of output to give back.",
          },
        },
        required: ["commands"],
        additionalProperties: false,
      },
      losses: [],
    }),
    encode(input) {
      const action = jsonOf(input);
      return isFields(action) ? JSON.stringify(pick(action, Object.keys(action))) : input;
    },
    decoder: () => whole(decode),
    answer: ({ parts }) =>
      parts.map((part) => (part.type === "text" ? { ...part, text: outputText(part.text) } : part)),
  },
};

/** The output of commands as plain text. */
function outputText(text: string): string {
  const chunks = jsonOf(text);
  if (!Array.isArray(chunks) || !chunks.every(isFields)) return text;
  return chunks
    .map(({ stdout, stderr, outcome }) => {
      const { type, exit_code: code } = isFields(outcome) ? outcome : {};
      const end = type === "timeout" ? "timed out" : `exit ${JSON.stringify(code ?? 0)}`;
      const output = [stdout, stderr].filter((one) => typeof one === "string" && one !== "");
      return [`[${end}]`, ...output].join("\n");
    })
    .join("\n");
}

function decode(text: string): string {
  const value = jsonOf(bareArguments(text));
  const read = isFields(value) ? inside(value, "action") : { commands: value ?? plainLine(text) };
  const commands = lines(read.commands ?? read.command ?? read.cmd);
  if (commands === undefined) return text;
  return JSON.stringify({ commands, ...pick(read, OPTIONS) });
}

function lines(commands: unknown): readonly string[] | undefined {
  if (typeof commands === "string" && commands !== "") return [commands];
  return isTexts(commands) && commands.length > 0 ? commands : undefined;
}
