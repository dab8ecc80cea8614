import { z } from "zod";
import { Fault } from "../../turn/fault.ts";
import { isFields } from "../../json/json.ts";
import { clientName } from "../../turn/names.ts";
import type {
  Callable,
  CustomTool,
  DialectName,
  Extra,
  Fields,
  FunctionTool,
  NamespaceTool,
  Tool,
  ToolChoice,
  ToolDeclarations,
  ToolRef,
} from "../../turn/turn.ts";
import { NO_OBJECT, invalid, jsonSchema, shaped, type Repair } from "./shape.ts";
import { filledText, given } from "./loose.ts";

/** Chooses one entry. A namespace is never called itself, so it means any of its tools. */
export const chooseTool = (tool: ToolRef): ToolChoice =>
  tool.kind === "namespace"
    ? { type: "allowed", mode: "required", tools: [tool] }
    : { type: "tool", tool };

/**
 * The form in which a dialect declares tools. Chat keeps the fields of a function or a custom tool in
 * an object named after its type, the Responses API beside it. Clients mix the two up, so both are
 * read everywhere.
 */
export type ToolForm = {
  readonly dialect: DialectName;
  readonly nested: boolean;
  /** The reason why a tool in the other form is not forwarded as it came. */
  readonly otherForm: string;
};

/** Without `repair`, tools may be in any form, and those that cannot be read are skipped. */
type Reading = { readonly form: ToolForm; readonly repair?: Repair };

const text = z.string().nullish();
const name = z.string().min(1);
const toolSchema = z.looseObject(
  { type: text },
  { error: 'must be a tool: an object such as {"type":"function",…}' },
);
const functionSchema = z.looseObject(
  { name, description: text, parameters: jsonSchema.nullish(), strict: z.boolean().nullish() },
  { error: "must be an object with `name` and `parameters`" },
);
const customSchema = z.looseObject(
  { name, description: text, format: z.record(z.string(), z.unknown()).nullish() },
  { error: "must be an object with `name`" },
);
const namespaceSchema = z.looseObject({
  name,
  description: text,
  tools: z.array(z.unknown()).nullish(),
});
const mcpSchema = z.looseObject({ server_label: name });

/** Reads one entry of a list of tools. Throws a Fault that names the field. */
export function readTool(raw: unknown, path: string, form: ToolForm, repair: Repair): Tool {
  const tool = shaped(toolSchema, raw, path);
  if (tool.type !== "namespace") return readCallable(tool, path, { form, repair });
  // Chat has no namespaces, so it has no form for them.
  return readNamespace(tool, path, form.nested ? { form } : { form, repair });
}

/**
 * Reads the tools that an item of the conversation declares, in any form. A tool that cannot be read
 * is skipped: to refuse it would make the whole conversation unusable.
 */
export const readItemTools = (
  list: readonly unknown[],
  path: string,
  form: ToolForm,
): ToolDeclarations =>
  readList(list, { form }, (raw, at) => {
    const where = `${path}[${at}]`;
    const tool = shaped(toolSchema, raw, where);
    return tool.type === "namespace"
      ? readNamespace(tool, where, { form })
      : readCallable(tool, where, { form });
  });

function readNamespace(raw: Fields, path: string, reading: Reading): NamespaceTool {
  const read = shaped(namespaceSchema, raw, path);
  const { type: _, name: called, description, tools, ...rest } = read;
  const members = readList(tools ?? [], reading, (member, at) =>
    readMember(member, `${path}.tools[${at}]`, reading),
  );
  return {
    type: "namespace",
    name: called,
    ...given({ description }),
    ...members,
    ...extraOf(rest, reading.form),
  };
}

/** Reads the entries of a list, and notes the places of those that are skipped. */
function readList<T>(
  list: readonly unknown[],
  { repair }: Reading,
  read: (raw: unknown, at: number) => T,
): ToolDeclarations<T> {
  const tools: T[] = [];
  const unreadable: number[] = [];
  for (const [at, raw] of list.entries())
    try {
      tools.push(read(raw, at));
    } catch (error) {
      if (repair !== undefined || !(error instanceof Fault)) throw error;
      unreadable.push(at);
    }
  return unreadable.length === 0 ? { tools } : { tools, unreadable };
}

function readMember(raw: unknown, path: string, reading: Reading): Callable {
  const member = shaped(toolSchema, raw, path);
  if (member.type !== "namespace") return readCallable(member, path, reading);
  throw invalid(`${path}.type`, "must not be a namespace: namespaces do not nest");
}

function readCallable(raw: z.infer<typeof toolSchema>, path: string, reading: Reading): Callable {
  const { form, repair } = reading;
  const type = raw.type ?? (isFields(raw.function) ? "function" : undefined);
  switch (type) {
    case undefined:
      throw invalid(`${path}.type`, 'must say what kind of tool it is, such as "function"');
    case "function":
    case "custom": {
      if (raw.type == null || isFields(raw[type]) !== form.nested) repair?.(path, form.otherForm);
      return type === "function"
        ? readFunction(raw, path, reading)
        : readCustom(raw, path, reading);
    }
    default:
      return {
        type: "builtin",
        kind: type,
        name: clientName(builtinName(type, raw, path, form)),
        dialect: form.dialect,
        raw,
      };
  }
}

/** The name of a provider's tool is its kind. A server has its label, since there may be several. */
function builtinName(type: string, raw: Fields, path: string, { nested }: ToolForm): string {
  if (nested) return filledText(raw.name) ?? filledText(raw.server_label) ?? type;
  return type === "mcp" ? shaped(mcpSchema, raw, path).server_label : type;
}

function readFunction(raw: Fields, path: string, { form, repair }: Reading): FunctionTool {
  const { fields, where, outer } = declarationOf(raw, "function", path, form);
  const read = readOldFunction(fields, where, form);
  if (typeof read.schema === "boolean") repair?.(`${where}.parameters`, NO_OBJECT);
  if (outer === undefined) return read;
  return {
    ...read,
    // Functions are strict by default in the Responses API, but not in chat.
    ...(form.nested ? {} : { strict: read.strict ?? false }),
    ...extraOf(withOuter("function", read, outer, form), form),
  };
}

/** Reads a function of the old `functions` list: the object that a tool now nests. */
export function readOldFunction(raw: unknown, path: string, form: ToolForm): FunctionTool {
  const read = shaped(functionSchema, raw, path);
  const { name: called, description, parameters, strict, ...rest } = read;
  return {
    type: "function",
    name: clientName(called),
    ...given({ description, schema: parameters, strict }),
    ...extraOf(rest, form),
  };
}

function readCustom(raw: Fields, path: string, { form }: Reading): CustomTool {
  const { fields, where, outer } = declarationOf(raw, "custom", path, form);
  const { name: called, description, format, ...rest } = shaped(customSchema, fields, where);
  const read: CustomTool = {
    type: "custom",
    name: clientName(called),
    ...given({ description, format: format && flatFormat(format) }),
    ...extraOf(rest, form),
  };
  return outer === undefined
    ? read
    : { ...read, ...extraOf(withOuter("custom", read, outer, form), form) };
}

/** The declaration, its path, and the fields beside it if it is nested. */
function declarationOf(
  raw: Fields,
  type: string,
  path: string,
  { nested }: ToolForm,
): { readonly fields: unknown; readonly where: string; readonly outer?: Fields } {
  const { type: _, [type]: inner, ...outer } = raw;
  const isNested = isFields(inner) || (nested && (inner !== undefined || raw.name === undefined));
  return isNested
    ? { fields: inner, where: `${path}.${type}`, outer }
    : { fields: outer, where: path };
}

/** The unknown fields of a nested declaration and of those beside it, in the form of its dialect. */
function withOuter(
  type: string,
  { extra }: FunctionTool | CustomTool,
  outer: Fields,
  { nested }: ToolForm,
): Fields {
  if (!nested) return { ...outer, ...extra?.fields };
  return extra === undefined ? outer : { ...outer, [type]: extra.fields };
}

/** Null is how clients say "not set". */
function extraOf(rest: Fields, { dialect }: ToolForm): { readonly extra?: Extra } {
  const fields = given(rest);
  return Object.keys(fields).length === 0 ? {} : { extra: { dialect, fields } };
}

/** Chat keeps a grammar one level deeper. */
export function flatFormat(format: Fields): Fields {
  const { grammar, ...outer } = format;
  return isFields(grammar) ? { ...outer, ...grammar } : format;
}
