/** Tools and their choice, as the APIs of OpenAI declare them. Clients mix the two forms up, so both are read everywhere. */

import type { Decision } from "../../turn/decision.ts";
import { Fault } from "../../turn/fault.ts";
import { isFields } from "../../json/json.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import { type AnyName, clientName, type UpstreamName } from "../../turn/names.ts";
import { toolPath } from "../../turn/path.ts";
import type {
  Callable,
  CustomTool,
  Extra,
  Fields,
  FunctionTool,
  NamespaceTool,
  Tool,
  ToolChoice,
  ToolDeclarations,
  ToolRef,
} from "../../turn/turn.ts";
import { type OnReason, ownExtra, reportForeign } from "./content.ts";
import { declarationOf, type OpenAiForm, otherForm } from "./openai-form.ts";
import {
  fieldsAt,
  filledTextAt,
  invalid,
  NO_OBJECT,
  optionalFlagAt,
  optionalListAt,
  optionalTextAt,
  parametersOf,
  repairInto,
  schemaAt,
  wrongType,
  type Repair,
} from "./shape.ts";
import { fieldsOf, filledText, given } from "./loose.ts";

/** Without `repair`, tools may be in any form, and those that cannot be read are skipped. */
type Reading = { readonly form: OpenAiForm; readonly repair?: Repair };

/** The tools of a list, and the repairs that reading them took. */
type ReadTools = { readonly tools: readonly Tool[]; readonly repairs: readonly Decision[] };

const none: ReadTools = { tools: [], repairs: [] };

/** Reads lists of tools; null is "none". The body reader gives the same array for the same text. */
export function toolsReader(
  path: string,
  read: (raw: unknown, path: string, repair: Repair) => Tool,
): (list: unknown) => ReadTools {
  const readList = memoizeByIdentity((list: readonly unknown[]): ReadTools => {
    const repairs: Decision[] = [];
    const repair = repairInto(repairs);
    return { tools: list.map((raw, at) => read(raw, `${path}[${at}]`, repair)), repairs };
  });
  return (list) => {
    if (list === undefined || list === null) return none;
    if (!Array.isArray(list)) throw invalid(path, `must be an array of ${path}`);
    return list.length === 0 ? none : readList(list);
  };
}

/** Reads one entry of a list of tools. Throws a Fault that names the field. */
export const readTool = (raw: unknown, path: string, form: OpenAiForm, repair: Repair): Tool =>
  readEntry(raw, path, { form, repair });

/**
 * Reads the tools that an item of the conversation declares, in any form. A tool that cannot be read
 * is skipped: to refuse it would make the whole conversation unusable.
 */
export const readItemTools = (
  list: readonly unknown[],
  path: string,
  form: OpenAiForm,
): ToolDeclarations =>
  readList(list, { form }, (raw, at) => readEntry(raw, `${path}[${at}]`, { form }));

function readEntry(raw: unknown, path: string, reading: Reading): Tool {
  const tool = toolAt(raw, path);
  if (tool.type !== "namespace") return readCallable(tool, path, reading);
  // Chat has no namespaces, so it has no form for them.
  const { form } = reading;
  return readNamespace(tool, path, form.nested ? { form } : reading);
}

function toolAt(raw: unknown, path: string): Fields {
  const tool = fieldsAt(raw, path, 'a tool: an object such as {"type":"function",…}');
  optionalTextAt(tool.type, `${path}.type`);
  return tool;
}

function readNamespace(raw: Fields, path: string, reading: Reading): NamespaceTool {
  const { type: _, name, description, tools, ...rest } = raw;
  const called = filledTextAt(name, `${path}.name`);
  const described = given({ description: optionalTextAt(description, `${path}.description`) });
  const list = optionalListAt(tools, `${path}.tools`);
  const members = readList(list, reading, (member, at) =>
    readMember(member, `${path}.tools[${at}]`, reading),
  );
  return {
    type: "namespace",
    name: called,
    ...described,
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
  const member = toolAt(raw, path);
  if (member.type !== "namespace") return readCallable(member, path, reading);
  throw invalid(`${path}.type`, "must not be a namespace: namespaces do not nest");
}

function readCallable(raw: Fields, path: string, reading: Reading): Callable {
  const { form, repair } = reading;
  const type = filledText(raw.type) ?? (isFields(raw.function) ? "function" : undefined);
  switch (type) {
    case undefined:
      throw invalid(`${path}.type`, 'must say what kind of tool it is, such as "function"');
    case "function":
    case "custom": {
      if (raw.type == null || isFields(raw[type]) !== form.nested)
        repair?.(path, otherForm(form, "tools"));
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
function builtinName(type: string, raw: Fields, path: string, { nested }: OpenAiForm): string {
  if (nested) return filledText(raw.name) ?? filledText(raw.server_label) ?? type;
  return type === "mcp" ? filledTextAt(raw.server_label, `${path}.server_label`) : type;
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
export function readOldFunction(raw: unknown, path: string, form: OpenAiForm): FunctionTool {
  const fields = fieldsAt(raw, path, "an object with `name` and `parameters`");
  const { name, description, parameters, strict, ...rest } = fields;
  return {
    type: "function",
    name: clientName(filledTextAt(name, `${path}.name`)),
    ...given({
      description: optionalTextAt(description, `${path}.description`),
      schema: parameters == null ? undefined : schemaAt(parameters, `${path}.parameters`),
      strict: optionalFlagAt(strict, `${path}.strict`),
    }),
    ...extraOf(rest, form),
  };
}

function readCustom(raw: Fields, path: string, { form }: Reading): CustomTool {
  const { fields, where, outer } = declarationOf(raw, "custom", path, form);
  const custom = fieldsAt(fields, where, "an object with `name`");
  const { name, description, format, ...rest } = custom;
  if (format != null && !isFields(format)) throw wrongType(format, `${where}.format`, "an object");
  const read: CustomTool = {
    type: "custom",
    name: clientName(filledTextAt(name, `${where}.name`)),
    ...given({
      description: optionalTextAt(description, `${where}.description`),
      format: format && flatFormat(format),
    }),
    ...extraOf(rest, form),
  };
  return outer === undefined
    ? read
    : { ...read, ...extraOf(withOuter("custom", read, outer, form), form) };
}

/** The unknown fields of a nested declaration and of those beside it, in the form of its dialect. */
function withOuter(
  type: string,
  { extra }: FunctionTool | CustomTool,
  outer: Fields,
  { nested }: OpenAiForm,
): Fields {
  if (!nested) return { ...outer, ...extra?.fields };
  return extra === undefined ? outer : { ...outer, [type]: extra.fields };
}

/** Null is how clients say "not set". */
function extraOf(rest: Fields, { dialect }: OpenAiForm): { readonly extra?: Extra } {
  const fields = given(rest);
  return Object.keys(fields).length === 0 ? {} : { extra: { dialect, fields } };
}

/** Chat keeps a grammar one level deeper. */
function flatFormat(format: Fields): Fields {
  const { grammar, ...outer } = format;
  return isFields(grammar) ? { ...outer, ...grammar } : format;
}

/** The grammar of a custom tool as chat has it. */
function nestedFormat(format: Fields): Fields {
  if (format.type !== "grammar" || format.grammar !== undefined) return format;
  const { type, ...grammar } = format;
  return { type, grammar };
}

/** Differences of a declaration by its reader. */
type Audience = {
  readonly form: OpenAiForm;
  /** The default of `strict` for functions. */
  readonly strict?: boolean | undefined;
  /** Every field that readers of answers want, and no secrets. */
  readonly echo?: boolean | undefined;
  readonly report: OnReason;
};

/** A tool as an API declares it; undefined if it has no form for the tool. */
export function writeTool<Name extends AnyName>(
  tool: Tool<Name>,
  to: Audience,
): Fields | undefined {
  const { form, report } = to;
  switch (tool.type) {
    case "function": {
      const { name, description, strict = to.strict } = tool;
      const fields = {
        name,
        ...given({ description, parameters: parametersOf(tool.schema), strict }),
      };
      const blank = to.echo === true && { description: null, parameters: null };
      return declaration(tool, { ...blank, ...fields }, to);
    }
    case "custom": {
      const { name, description, format } = tool;
      const write = form.nested ? nestedFormat : flatFormat;
      return declaration(
        tool,
        { name, ...given({ description, format: format && write(format) }) },
        to,
      );
    }
    case "namespace":
      if (form.nested) break;
      reportForeign(tool.extra, form.dialect, report);
      return {
        type: "namespace",
        name: tool.name,
        description: tool.description ?? "",
        tools: tool.tools.flatMap((inner) => writeTool(inner, to) ?? []),
        ...ownExtra(tool.extra, form.dialect),
      };
    case "builtin":
      if (tool.dialect !== form.dialect) break;
      return to.echo === true ? withoutSecrets(tool.raw) : tool.raw;
    default:
      return tool satisfies never;
  }
  const kind = tool.type === "builtin" ? tool.kind : tool.type;
  report(`${form.api} has no \`${kind}\` tools as the client's dialect has`);
  return undefined;
}

function declaration<Name extends AnyName>(
  tool: FunctionTool<Name> | CustomTool<Name>,
  fields: Fields,
  { form, report }: Audience,
): Fields {
  const { type, extra } = tool;
  reportForeign(extra, form.dialect, report);
  const own = ownExtra(extra, form.dialect);
  return form.nested
    ? { ...own, type, [type]: { ...fieldsOf(own[type]), ...fields } }
    : { type, ...fields, ...own };
}

/** Keys to other servers are not repeated, nor does the API itself. */
function withoutSecrets(raw: Fields): Fields {
  if (raw.type !== "mcp") return raw;
  const { authorization: _, headers: __, ...shown } = raw;
  return shown;
}

export type WrittenTools = {
  /** JSON text; undefined without a tool. */
  readonly text: string | undefined;
  readonly decisions: readonly Decision[];
};

/** Writes lists of tools, each once. */
export const toolsWriter = (
  form: OpenAiForm,
  strict?: boolean,
): ((tools: readonly Tool<UpstreamName>[]) => WrittenTools) =>
  memoizeByIdentity((tools) => {
    const decisions: Decision[] = [];
    const list = tools.flatMap((tool, at) => {
      const report = (reason: string): void =>
        void decisions.push({ path: toolPath(tool, at), action: "dropped", reason });
      return writeTool(tool, { form, strict, report }) ?? [];
    });
    return { text: list.length === 0 ? undefined : JSON.stringify(list), decisions };
  });

type Word = "auto" | "none" | "required";
const isWord = (value: unknown): value is Word =>
  value === "auto" || value === "none" || value === "required";

const CHOICE =
  "`auto`, `none`, `required` or an object that names a tool; leave it out for the default";

/** Reads `tool_choice`. Null is refused, as the APIs do: a choice that went missing is not the default. */
export function readToolChoice(
  raw: unknown,
  path: string,
  form: OpenAiForm,
  repair: Repair,
): ToolChoice | undefined {
  if (raw === undefined) return undefined;
  const repairForm = (): void => repair(path, otherForm(form, "a choice"));
  if (isWord(raw)) return { type: raw };
  // The word of another API.
  if (raw === "any") {
    repairForm();
    return { type: "required" };
  }
  const choice = fieldsAt(raw, path, CHOICE);
  if (isWord(choice.type)) {
    repairForm();
    return { type: choice.type };
  }
  if (choice.type !== "allowed_tools") return chooseTool(readRef(choice, path, form, repairForm));
  const inner = fieldsOf(choice.allowed_tools);
  if ((inner !== undefined) !== form.nested) repairForm();
  const where = inner === undefined ? path : `${path}.allowed_tools`;
  const { mode = form.nested ? undefined : "auto", tools } = inner ?? choice;
  if (mode !== "auto" && mode !== "required")
    throw invalid(`${where}.mode`, "must be `auto` or `required`");
  if (!Array.isArray(tools) || (tools.length === 0 && !form.nested))
    throw invalid(`${where}.tools`, "must be an array of tools; to allow none, choose `none`");
  const refs = tools.map((tool: unknown, at) => {
    const place = `${where}.tools[${at}]`;
    return readRef(fieldsAt(tool, place, "an object"), place, form, repairForm);
  });
  return { type: "allowed", mode, tools: refs };
}

/** Chooses one entry. A namespace is never called itself, so it means any of its tools. */
const chooseTool = (tool: ToolRef): ToolChoice =>
  tool.kind === "namespace"
    ? { type: "allowed", mode: "required", tools: [tool] }
    : { type: "tool", tool };

function readRef(raw: Fields, path: string, form: OpenAiForm, repair: () => void): ToolRef {
  const kind = raw.type ?? (raw.function === undefined ? undefined : "function");
  if (typeof kind !== "string" || kind === "")
    throw invalid(`${path}.type`, "must say what kind of tool is meant, such as `function`");
  if (kind === "function" || kind === "custom") {
    const { fields, where, outer } = declarationOf(raw, kind, path, form);
    if ((outer !== undefined) !== form.nested || raw.type == null) repair();
    return readNamed(kind, fields, where);
  }
  const server = filledText(raw.server_label);
  const isNamed = form.nested || server !== undefined || kind === "namespace";
  const name = isNamed ? filledText(raw.name) : undefined;
  // A tool of a server is like a member of a namespace.
  const namespace = name && server;
  return {
    kind,
    name: clientName(name ?? builtinName(kind, raw, path, form)),
    ...given({ namespace }),
  };
}

export function readNamed(kind: string, value: unknown, path: string): ToolRef {
  const named = fieldsAt(value, path, "an object with `name`");
  const name = clientName(filledTextAt(named.name, `${path}.name`));
  return { kind, name, ...given({ namespace: filledText(named.namespace) }) };
}

export function writeToolChoice<Name extends AnyName>(
  choice: ToolChoice<Name>,
  form: OpenAiForm,
): unknown {
  switch (choice.type) {
    case "tool":
      return writeRef(choice.tool, form);
    case "allowed": {
      const tools = choice.tools.map((tool) => writeRef(tool, form));
      const allowed = { mode: choice.mode, tools };
      return { type: "allowed_tools", ...(form.nested ? { allowed_tools: allowed } : allowed) };
    }
    default:
      return choice.type;
  }
}

function writeRef<Name extends AnyName>(
  { kind, name, namespace }: ToolRef<Name>,
  { nested }: OpenAiForm,
): Fields {
  if (kind === "function" || kind === "custom")
    return nested
      ? { type: kind, [kind]: { name } }
      : { type: kind, name, ...given({ namespace }) };
  if (kind !== "mcp" || nested) return { type: kind };
  return namespace === undefined
    ? { type: "mcp", server_label: name }
    : { type: "mcp", server_label: namespace, name };
}
