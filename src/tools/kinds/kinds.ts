/** The kinds of tools: how each is declared as a function, and how its calls are restored. */

import { isFields, jsonOf } from "../../json/json.ts";
import { clientName } from "../../turn/names.ts";
import type { Call, Callable, Fields, JsonSchema, Part, Result } from "../../turn/turn.ts";
import { bareArguments, unwrapText, whole, type Form } from "./decoder.ts";

/**
 * Declares a kind as a function and restores its calls. Both directions are in
 * one object, so that they cannot drift apart.
 */
export type StandIn = Form & {
  declare(tool: Callable): {
    readonly description: string;
    readonly schema: JsonSchema | undefined;
    /** Promises of the tool that the function cannot keep; each a phrase. */
    readonly losses: readonly string[];
  };
  /** Converts a past result into that of a function. `brought`: names of the tools that it declares. */
  answer?(result: Result, brought: readonly string[]): readonly Part[];
  /** The kind of call that the client gets, if it cannot be the declared one. */
  readonly restoredAs?: string | undefined;
};

export type ToolKind = {
  readonly kind: string;
  /** True if only one dialect has a form for it: upstreams of other dialects get the stand-in. */
  readonly isDialectBound?: boolean | undefined;
  /** Older and dated names of the kind. */
  readonly aliases?: RegExp | undefined;
  /** True if the kind can carry an answer that a client gave as text; undefined: it carries any. */
  readonly takesAnswer?: ((text: string) => boolean) | undefined;
  /** Converts a call that the provider ran into a call and a result of the client. */
  readonly ownCall?: ((item: Fields) => readonly [Call, Result] | undefined) | undefined;
  /** Undefined if only a provider can run the kind. */
  readonly standIn?: StandIn | undefined;
};

const text = (description: string): Fields => ({ type: "string", description });
const count = (description: string): Fields => ({ type: "integer", minimum: 1, description });
const list = (description: string, items: Fields, more: Fields = { minItems: 1 }): Fields => ({
  type: "array",
  items,
  ...more,
  description,
});
const oneOf = (values: readonly string[], description: string): Fields => ({
  type: "string",
  enum: values,
  description,
});
const object = (properties: Fields, required: readonly string[]): Fields => ({
  type: "object",
  properties,
  ...(required.length > 0 && { required }),
  additionalProperties: false,
});

/** A stand-in that declares every tool alike and changes only the arguments of its calls. */
const standIn = (
  description: string,
  schema: Fields,
  decode: (text: string) => string,
  { losses = [], ...more }: Partial<StandIn> & { readonly losses?: readonly string[] } = {},
): StandIn => ({
  declare: () => ({ description, schema, losses }),
  encode: (input) => input,
  decoder: () => whole(decode),
  ...more,
});

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === "string");

/** The object under `key`, which some models write around the arguments and some do not. */
const inside = (value: Fields, key: string): Fields => (isFields(value[key]) ? value[key] : value);

/** Text that does not look like JSON is the command line that the model meant. */
const plainLine = (text: string): string | undefined =>
  /^\s*[{["]/.test(text) || text.trim() === "" ? undefined : text;

/** The fields called `names`, in that order, without null and absent ones. */
function pick(value: Fields, names: readonly string[]): Record<string, unknown> {
  const picked: Record<string, unknown> = {};
  for (const name of names) if (value[name] != null) picked[name] = value[name];
  return picked;
}

const CUSTOM_KEY = "input";

/** Declares a tool of free text, perhaps with a grammar, as a function with one text parameter. */
export const customStandIn: StandIn = {
  declare(tool) {
    const grammar = tool.type === "custom" ? grammarText(tool.format) : undefined;
    const described = tool.type === "builtin" ? undefined : tool.description;
    const how = `Put the whole input, as plain text, in \`${CUSTOM_KEY}\`.`;
    return {
      description: [described, how, grammar].filter(Boolean).join("\n\n"),
      schema: object({ [CUSTOM_KEY]: text("The whole input of the tool.") }, [CUSTOM_KEY]),
      losses: grammar === undefined ? [] : ["its grammar is described but not enforced"],
    };
  },
  encode: (input) => JSON.stringify({ [CUSTOM_KEY]: input }),
  decoder: () => unwrapText(CUSTOM_KEY),
};

/** A grammar as a sentence. Some dialects put the grammar in a separate group. */
function grammarText(format: Fields | undefined): string | undefined {
  if (format?.type !== "grammar") return undefined;
  const { syntax, definition } = isFields(format.grammar) ? format.grammar : format;
  const kind = typeof syntax === "string" ? `${syntax} ` : "";
  return `The input must match this ${kind}grammar:\n${String(definition)}`;
}

const localShell = standIn(
  "Runs a command on the user's machine and returns its output.",
  object(
    {
      command: list('The program and its arguments, such as ["ls", "-la"].', { type: "string" }),
      working_directory: text("Where to run it."),
      timeout_ms: count("The time limit in milliseconds."),
      env: {
        type: "object",
        additionalProperties: { type: "string" },
        description: "Environment variables to set.",
      },
      user: text("The user to run it as."),
    },
    ["command"],
  ),
  (text) => {
    const value = jsonOf(bareArguments(text));
    const read = isFields(value)
      ? inside(value, "action")
      : { command: value ?? plainLine(text)?.trim() };
    const command = wordsOf(read.command ?? read.cmd);
    if (command === undefined) return text;
    const env = isFields(read.env) ? read.env : {};
    const options = pick(read, ["timeout_ms", "working_directory", "user"]);
    return JSON.stringify({ type: "exec", command, env, ...options });
  },
  {
    encode(input) {
      const action = jsonOf(input);
      if (!isFields(action)) return input;
      const { type: _, env, ...rest } = action;
      // `env` is required in a call, so an empty one may not come from the model.
      const hasEnv = isFields(env) && Object.keys(env).length > 0;
      return JSON.stringify(hasEnv ? { ...rest, env } : rest);
    },
  },
);

/** A command as a list. A single word is a program; a line needs the shell it was written for. */
function wordsOf(command: unknown): readonly string[] | undefined {
  if (isTexts(command) && command.length > 0) return command;
  if (typeof command !== "string" || command === "") return undefined;
  return /^[\w./:@%+=,-]+$/.test(command) ? [command] : ["bash", "-lc", command];
}

const shell = standIn(
  "Runs shell commands on the user's machine and returns their output.",
  object(
    {
      commands: list('The command lines, such as ["ls -la", "git status"].', { type: "string" }),
      timeout_ms: count("The time limit in milliseconds."),
      max_output_length: count("The most characters of output to return."),
    },
    ["commands"],
  ),
  (text) => {
    const value = jsonOf(bareArguments(text));
    const read = isFields(value) ? inside(value, "action") : { commands: value ?? plainLine(text) };
    const given = read.commands ?? read.command ?? read.cmd;
    const commands = typeof given === "string" && given !== "" ? [given] : given;
    if (!isTexts(commands) || commands.length === 0) return text;
    return JSON.stringify({ commands, ...pick(read, ["timeout_ms", "max_output_length"]) });
  },
  {
    encode(input) {
      const action = jsonOf(input);
      return isFields(action) ? JSON.stringify(pick(action, Object.keys(action))) : input;
    },
    answer: ({ parts }) =>
      parts.map((part) =>
        part.type === "text" ? { ...part, text: shellOutput(part.text) } : part,
      ),
  },
);

function shellOutput(text: string): string {
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

const OPERATIONS = ["create_file", "update_file", "delete_file"];
const DIFF =
  "The change as a V4A diff: for update_file, hunks that begin with @@ and whose lines begin with a space, - or +; for create_file, the content with + before every line. Left out for delete_file.";

const applyPatch = standIn(
  "Creates, updates or deletes a file on the user's machine. One call changes one file; make several calls for several files.",
  object(
    {
      operation: object(
        {
          type: { type: "string", enum: OPERATIONS },
          path: { type: "string", minLength: 1, description: "The file." },
          diff: text(DIFF),
        },
        ["type", "path"],
      ),
    },
    ["operation"],
  ),
  (text) => {
    const value = jsonOf(bareArguments(text));
    if (!isFields(value)) return text;
    const inner = typeof value.operation === "string" ? jsonOf(value.operation) : value.operation;
    const operation = isFields(inner) ? inner : value;
    const { type, path } = operation;
    if (!OPERATIONS.includes(String(type)) || typeof path !== "string") return text;
    return JSON.stringify(pick(operation, ["type", "path", "diff"]));
  },
  {
    encode(input) {
      const operation = jsonOf(input);
      return isFields(operation) ? JSON.stringify({ operation }) : input;
    },
    answer({ parts, extra }) {
      const isFailed = extra?.fields.status === "failed";
      if (parts.length > 0 && !isFailed) return parts;
      const text = isFailed ? "The change failed." : "The change was made.";
      return [{ type: "text", text }, ...parts];
    },
  },
);

/** The client searches for tools; the tools that it finds are declared from then on. */
const toolSearch: StandIn = {
  declare(tool) {
    const { description, parameters } = tool.type === "builtin" ? tool.raw : ({} as Fields);
    return {
      description:
        typeof description === "string" && description !== ""
          ? description
          : "Searches for further tools and loads the ones it finds; you can call them afterwards.",
      schema: isFields(parameters)
        ? parameters
        : {
            type: "object",
            properties: {
              query: text("What the tool should do."),
              limit: count("The most tools to load."),
            },
            required: ["query"],
          },
      losses: [],
    };
  },
  encode: (input) => input,
  // The client gets the arguments as a value, so they are sent when they are complete.
  decoder: () => whole(bareArguments),
  answer: (_, brought) => [
    {
      type: "text",
      text:
        brought.length === 0
          ? "No tools were found."
          : `Found these tools, which can be called from now on: ${brought.join(", ")}.`,
    },
  ],
};

/**
 * Web searches run at the provider. If a profile still asks for a stand-in, the client has to
 * search, so it gets a plain function call.
 */
const webSearch = standIn(
  "Searches the web and returns titles, addresses and excerpts.",
  object({ query: text("What to search for.") }, ["query"]),
  (text) => text,
  { restoredAs: "function", losses: ["the client must run the search"] },
);

const bash = standIn(
  "Runs a command in a bash session on the user's machine and returns its output. The session keeps its state between calls.",
  object(
    {
      command: text("The command to run."),
      restart: { type: "boolean", description: "True to restart the session instead." },
    },
    [],
  ),
  (text) => {
    const value = jsonOf(bareArguments(text));
    if (isFields(value)) return JSON.stringify(value);
    const command = typeof value === "string" ? value : plainLine(text);
    return command === undefined ? text : JSON.stringify({ command });
  },
);

/** The fields of edits of a file, by command. */
const edits: Fields = {
  view_range: list(
    "For view: the first and the last line, -1 for the end.",
    { type: "integer" },
    {},
  ),
  file_text: text("For create: the whole content."),
  old_str: text("For str_replace: the text to replace, exactly as in the file."),
  new_str: text("For str_replace: the new text."),
  insert_line: {
    type: "integer",
    description: "For insert: the line to add the text after, 0 for the beginning.",
  },
  insert_text: text("For insert: the text."),
};

const textEditor = standIn(
  "Views, creates and edits text files on the user's machine. `str_replace` replaces the only occurrence of `old_str`; `insert` adds `insert_text` after the line `insert_line`.",
  object(
    {
      command: oneOf(["view", "create", "str_replace", "insert"], "What to do."),
      path: text("The file or, to view, the folder."),
      ...edits,
    },
    ["command", "path"],
  ),
  bareArguments,
);

const memory = standIn(
  "Reads and writes the files in `/memories`, which last from one conversation to the next. Read them before you begin, and write down what later conversations will need.",
  object(
    {
      command: oneOf(
        ["view", "create", "str_replace", "insert", "delete", "rename"],
        "What to do.",
      ),
      path: text("The file or folder, beginning with /memories."),
      ...edits,
      old_path: text("For rename: the present path."),
      new_path: text("For rename: the new path."),
    },
    ["command"],
  ),
  bareArguments,
);

/** A call of an MCP server that the provider made, as a call of the client's. */
function mcpCall(item: Fields): readonly [Call, Result] | undefined {
  const { id, name, server_label: server, arguments: input, output } = item;
  if (typeof id !== "string" || typeof name !== "string") return undefined;
  if (typeof output !== "string" || output === "") return undefined;
  const call: Call = {
    type: "call",
    id,
    kind: "function",
    name: clientName(name),
    namespace: typeof server === "string" ? server : undefined,
    input: typeof input === "string" ? input : "",
  };
  return [
    call,
    { type: "result", call: id, kind: "function", parts: [{ type: "text", text: output }] },
  ];
}

/** True if a result of a search for tools can be carried as its own kind: it is a list of tools. */
function isToolList(text: string): boolean {
  const found = jsonOf(text);
  return Array.isArray(found) && found.every(isFields);
}

/**
 * Every known kind of tool. A namespace is not a kind: it only groups tools. Kinds without a
 * stand-in run only at a provider. A function cannot replace computer use, which only models that
 * were trained for it can use.
 */
const kinds: readonly ToolKind[] = [
  { kind: "function" },
  { kind: "custom", standIn: customStandIn },
  { kind: "local_shell", standIn: localShell },
  { kind: "shell", standIn: shell },
  { kind: "apply_patch", standIn: applyPatch },
  { kind: "tool_search", standIn: toolSearch, takesAnswer: isToolList },
  {
    kind: "web_search",
    aliases: /^web_search(_preview)?(_\d{4}_\d{2}_\d{2})?$/,
    standIn: webSearch,
  },
  { kind: "file_search" },
  { kind: "mcp", ownCall: mcpCall },
  { kind: "code_interpreter" },
  { kind: "computer_use", aliases: /^computer(_use)?(_preview)?(_\d{4}_\d{2}_\d{2})?$/ },
  { kind: "image_generation" },
  { kind: "bash", isDialectBound: true, standIn: bash },
  { kind: "text_editor", isDialectBound: true, standIn: textEditor },
  { kind: "memory", isDialectBound: true, standIn: memory },
  { kind: "web_fetch", isDialectBound: true },
  { kind: "code_execution", isDialectBound: true },
  { kind: "tool_search_tool", isDialectBound: true },
  { kind: "mcp_toolset", isDialectBound: true },
  { kind: "advisor", isDialectBound: true },
  { kind: "computer_toolset", isDialectBound: true },
  { kind: "browser_toolset", isDialectBound: true },
];

const byName = new Map(kinds.map((kind) => [kind.kind, kind]));

/** The kind with a name, which may be an older or a dated one. */
export const toolKindOf = (name: string): ToolKind | undefined =>
  byName.get(name) ?? kinds.find(({ aliases }) => aliases?.test(name) === true);
