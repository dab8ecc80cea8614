import { isFields, jsonOf } from "../../json/json.ts";
import { bareArguments, inside, isTexts, pick, plainLine, whole, type Kind } from "./kind.ts";

const OPTIONS = ["timeout_ms", "working_directory", "user"];

/** One command on the client's machine, as a list of arguments. */
export const localShellKind: Kind = {
  kind: "local_shell",
  standIn: {
    declare: () => ({
      description: "Runs a command on the user's machine and gives back its output.",
      schema: {
        type: "object",
        properties: {
          command: {
            type: "array",
            items: { type: "string" },
            minItems: 1,
            description: 'The program and its arguments, such as ["ls", "-la"].',
          },
          working_directory: { type: "string", description: "Where to run it." },
          timeout_ms: { type: "integer", minimum: 1, description: "When to give up." },
          env: {
            type: "object",
            additionalProperties: { type: "string" },
            description: "Environment variables to set.",
          },
          user: { type: "string", description: "The user to run it as." },
        },
        required: ["command"],
        additionalProperties: false,
      },
      losses: [],
    }),
    encode(input) {
      const action = jsonOf(input);
      if (!isFields(action)) return input;
      const { type: _, env, ...rest } = action;
      // The form of calls wants it, the model need not have said it: it is told its own call again.
      const hasEnv = isFields(env) && Object.keys(env).length > 0;
      return JSON.stringify(hasEnv ? { ...rest, env } : rest);
    },
    decoder: () => whole(decode),
  },
};

/** The action in a function's arguments; the arguments themselves if there is none in them. */
function decode(text: string): string {
  const value = jsonOf(bareArguments(text));
  const read = isFields(value)
    ? inside(value, "action")
    : { command: value ?? plainLine(text)?.trim() };
  const command = wordsOf(read.command ?? read.cmd);
  if (command === undefined) return text;
  const env = isFields(read.env) ? read.env : {};
  return JSON.stringify({ type: "exec", command, env, ...pick(read, OPTIONS) });
}

function wordsOf(command: unknown): readonly string[] | undefined {
  if (isTexts(command) && command.length > 0) return command;
  if (typeof command !== "string" || command === "") return undefined;
  // A single word is a program; a line needs the shell it was written for.
  return /^[\w./:@%+=,-]+$/.test(command) ? [command] : ["bash", "-lc", command];
}
