/** Reads the tools of a request, and the choice among them. */

import type { Decision } from "../../turn/decision.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import { clientName } from "../../turn/names.ts";
import type { Fields, FunctionTool, Tool, ToolChoice } from "../../turn/turn.ts";
import { fieldsOf, filledText, given, listOf } from "../shared/loose.ts";
import { filledTextAt, invalid, optionalTextAt, type Repair } from "../shared/shape.ts";
import { camelFieldsAt, optionalListOf, readWord } from "./read-fields.ts";
import { readSchema } from "./read-schema.ts";
import { geminiExtra } from "./wire.ts";

/** The kinds of the tools that the provider runs, by the field that declares them. */
const kinds: ReadonlyMap<string, string> = new Map([
  ["googleSearch", "web_search"],
  ["googleSearchRetrieval", "web_search"],
  ["enterpriseWebSearch", "web_search"],
  ["urlContext", "web_fetch"],
  ["codeExecution", "code_execution"],
  ["googleMaps", "google_maps"],
  ["fileSearch", "file_search"],
  ["computerUse", "computer_use"],
  ["mcpServers", "mcp"],
]);

/** The tools of a request, and the fields that were left out of them. */
type ReadTools = { readonly tools: readonly Tool[]; readonly dropped: readonly Decision[] };

/** One object stands for a list of it. */
export function readTools(raw: unknown): ReadTools {
  return Array.isArray(raw) ? readList(raw) : toolsIn(optionalListOf(raw, "tools"));
}

function toolsIn(list: readonly unknown[]): ReadTools {
  const dropped: Decision[] = [];
  return { tools: list.flatMap((one, at) => readGroup(one, `tools[${at}]`, dropped)), dropped };
}

/** `BodyReader` gives the same array for the same tools. */
const readList = memoizeByIdentity(toolsIn);

/** Reads one entry: a list of functions, or tools that the provider runs. */
function readGroup(raw: unknown, path: string, dropped: Decision[]): readonly Tool[] {
  const group = camelFieldsAt(raw, path, 'an object such as {"functionDeclarations":[…]}');
  const tools: Tool[] = [];
  for (const key of Object.keys(group)) {
    const value = group[key];
    if (value == null) continue;
    if (key === "functionDeclarations") {
      for (const [at, one] of optionalListOf(value, `${path}.${key}`).entries())
        tools.push(readFunction(one, `${path}.${key}[${at}]`, dropped));
      continue;
    }
    if (typeof value !== "object")
      throw invalid(
        `${path}.${key}`,
        "must be an object; functions are declared in `functionDeclarations`",
      );
    const kind = kinds.get(key) ?? snakeName(key);
    const name = clientName(filledText(fieldsOf(listOf(value)?.[0])?.name) ?? kind);
    // A fault quotes the path.
    const place = key.length > 100 ? path : `${path}.${key}`;
    const raw = { [key]: value };
    tools.push({ type: "builtin", path: place, kind, name, dialect: "gemini", raw });
  }
  return tools;
}

const snakeName = (key: string): string =>
  key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function readFunction(raw: unknown, path: string, dropped: Decision[]): FunctionTool {
  const { name, description, parameters, parametersJsonSchema, ...rest } = camelFieldsAt(
    raw,
    path,
    "a function: an object with `name` and `parameters`",
  );
  const field = parametersJsonSchema == null ? "parameters" : "parametersJsonSchema";
  const schema = parametersJsonSchema ?? parameters;
  if (parameters != null && parametersJsonSchema != null)
    dropped.push({ path: `${path}.parameters`, action: "dropped", reason: ONE_SCHEMA });
  return {
    type: "function",
    path,
    name: clientName(filledTextAt(name, `${path}.name`)),
    ...given({ description: optionalTextAt(description, `${path}.description`) }),
    ...(schema != null && { schema: readSchema(schema, `${path}.${field}`) }),
    ...extraOf(rest),
  };
}

/** The API refuses the other field beside the one that is read. */
export const ONE_SCHEMA = "there is another schema in the field for JSON schemas, which is read";

/** The form of results, which other dialects do not declare, is a hint. */
function extraOf({
  response,
  responseJsonSchema,
  ...rest
}: Fields): ReturnType<typeof geminiExtra> {
  return geminiExtra(given(rest), given({ response, responseJsonSchema }));
}

const modes = ["AUTO", "ANY", "NONE", "VALIDATED", "MODE_UNSPECIFIED"] as const;
const PATH = "toolConfig.functionCallingConfig";

/** A choice, and the fields of the configuration that the turn has no words for. */
export type ReadConfig = {
  readonly choice?: ToolChoice | undefined;
  readonly rest: Fields;
  /** Fields that are no loss elsewhere. */
  readonly hints: Fields;
};

/** Reads `toolConfig`. */
export function readToolConfig(raw: unknown, repair: Repair): ReadConfig {
  if (raw == null) return { rest: {}, hints: {} };
  const {
    functionCallingConfig,
    includeServerSideToolInvocations: shows,
    ...rest
  } = camelFieldsAt(
    raw,
    "toolConfig",
    'an object such as {"functionCallingConfig":{"mode":"AUTO"}}',
  );
  const told = given({ includeServerSideToolInvocations: shows });
  if (functionCallingConfig == null) return { rest: given(rest), hints: told };
  const { mode, allowedFunctionNames, ...more } = camelFieldsAt(
    functionCallingConfig,
    PATH,
    'an object such as {"mode":"AUTO"}',
  );
  const word = mode == null ? undefined : readWord(mode, modes, `${PATH}.mode`);
  const names = optionalListOf(allowedFunctionNames, `${PATH}.allowedFunctionNames`, "text");
  const allowed = names.map((name, at) => ({
    kind: "function",
    name: clientName(filledTextAt(name, `${PATH}.allowedFunctionNames[${at}]`)),
  }));
  const isValidated = word === "VALIDATED";
  const config = {
    ...given(more),
    ...(isValidated && { mode: word }),
  };
  return {
    choice: choiceOf(word, allowed, repair),
    rest: given(rest),
    hints: { ...told, ...(Object.keys(config).length > 0 && { functionCallingConfig: config }) },
  };
}

type Allowed = Extract<ToolChoice, { type: "allowed" }>["tools"];

function choiceOf(
  mode: (typeof modes)[number] | undefined,
  tools: Allowed,
  repair: Repair,
): ToolChoice | undefined {
  const [first, second] = tools;
  switch (mode) {
    case "NONE":
      return { type: "none" };
    case "ANY":
      if (first === undefined) return { type: "required" };
      if (second === undefined) return { type: "tool", tool: first };
      return { type: "allowed", mode: "required", tools };
    case undefined:
    case "MODE_UNSPECIFIED":
    case "AUTO":
      if (first === undefined) return mode === "AUTO" ? { type: "auto" } : undefined;
      repair(`${PATH}.mode`, "the API takes allowed names only with `ANY` or `VALIDATED`");
      return { type: "allowed", mode: "auto", tools };
    case "VALIDATED":
      return first === undefined ? { type: "auto" } : { type: "allowed", mode: "auto", tools };
    default:
      return mode satisfies never;
  }
}
