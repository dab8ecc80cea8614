import { isObject, isTexts, jsonOf, pick, whole, type Kind } from "./kind.ts";

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
      return isObject(action) ? JSON.stringify(pick(action, Object.keys(action))) : input;
    },
    decoder: () => whole(decode),
  },
};

function decode(text: string): string {
  const value = jsonOf(text);
  const said = isObject(value) ? value : { commands: value ?? plainLine(text) };
  const commands = lines(said["commands"] ?? said["command"] ?? said["cmd"]);
  if (commands === undefined) return text;
  return JSON.stringify({ commands, ...pick(said, OPTIONS) });
}

const plainLine = (text: string): string | undefined =>
  /^\s*[{["]/.test(text) || text.trim() === "" ? undefined : text;

function lines(commands: unknown): readonly string[] | undefined {
  if (typeof commands === "string" && commands !== "") return [commands];
  return isTexts(commands) && commands.length > 0 ? commands : undefined;
}
