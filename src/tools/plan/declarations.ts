import { isFields } from "../../turn/json.ts";
import { clientName } from "../../turn/names.ts";
import type { Callable, DialectName, Extra, Fields, NamespaceTool, Tool } from "../../turn/turn.ts";

/**
 * Reads a tool that an item of the conversation carries, in the form of either
 * dialect; nothing if it is none. The list beside the conversation has been
 * read by then. Members of a namespace that are none are told to `unread`, by
 * where they stand.
 */
export function readDeclaration(
  raw: unknown,
  dialect: DialectName,
  unread: (path: string) => void = () => {},
): Tool | undefined {
  if (!isFields(raw)) return undefined;
  if (raw.type !== "namespace") return readCallable(raw, dialect);
  const { name, description, tools, type: _, ...rest } = raw;
  if (typeof name !== "string" || name === "") return undefined;
  const members = Array.isArray(tools) ? tools : [];
  const read: NamespaceTool = {
    type: "namespace",
    name,
    description: textOf(description),
    tools: members.flatMap((member: unknown, at) => {
      const callable = isFields(member) ? readCallable(member, dialect) : undefined;
      if (callable === undefined) unread(`.tools[${at}]`);
      return callable ?? [];
    }),
    ...extraOf(rest, dialect),
  };
  return read;
}

function readCallable(raw: Fields, dialect: DialectName): Callable | undefined {
  const { type } = raw;
  if (typeof type !== "string" || type === "namespace") return undefined;
  if (type !== "function" && type !== "custom") {
    const name = clientName(textOf(raw.server_label) ?? type);
    return { type: "builtin", kind: type, name, dialect, raw };
  }
  // Chat keeps the fields of a tool in an object named after its type.
  const fields = isFields(raw[type]) ? raw[type] : raw;
  const { name, description, parameters, strict, format, type: _, ...rest } = fields;
  if (typeof name !== "string" || name === "") return undefined;
  const shared = {
    name: clientName(name),
    description: textOf(description),
    ...extraOf(rest, dialect),
  };
  if (type === "custom") return { type, ...shared, format: isFields(format) ? format : undefined };
  return {
    type,
    ...shared,
    schema: isFields(parameters) || typeof parameters === "boolean" ? parameters : undefined,
    strict: typeof strict === "boolean" ? strict : undefined,
  };
}

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;

const extraOf = (fields: Fields, dialect: DialectName): { extra?: Extra } =>
  Object.keys(fields).length === 0 ? {} : { extra: { dialect, fields } };
