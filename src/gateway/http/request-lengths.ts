/** Bounds the names and ids in a request, because work on them is done character by character. */

import { Fault } from "../../turn/fault.ts";
import { itemPath } from "../../turn/path.ts";
import type { Callable, Item, Tool, ToolRef, Turn } from "../../turn/turn.ts";

/** Characters of a name of a tool, a namespace, a participant or a format. The widest known API takes 128. */
const MAX_NAME = 1024;
/** Characters of an id. Some gateways put a model's signature into the ids of calls. */
const MAX_ID = 65_536;

/** Gives the turn back. Throws a Fault that names the field whose name or id is too long. */
export function checkLengths(turn: Turn): Turn {
  const { items, tools, toolChoice, format } = turn;
  for (let at = 0; at < tools.length; at++) {
    const tool = tools[at];
    if (
      tool !== undefined &&
      (tool.name.length > MAX_NAME || tool.type !== "function") &&
      hasLongName(tool)
    )
      throw tooLong(`tools[${at}]`, "name", MAX_NAME);
  }
  for (let at = 0; at < items.length; at++) {
    const item = items[at];
    if (item !== undefined) checkItem(turn, item, at);
  }
  if (toolChoice?.type === "tool" && isLongRef(toolChoice.tool))
    throw tooLong("tool_choice", "name", MAX_NAME);
  if (toolChoice?.type === "allowed" && toolChoice.tools.some(isLongRef))
    throw tooLong("tool_choice", "name", MAX_NAME);
  if (format?.type === "schema" && isLongName(format.name))
    throw tooLong("response_format", "name", MAX_NAME);
  return turn;
}

function checkItem(turn: Turn, item: Item, at: number): void {
  switch (item.type) {
    case "call":
      if (isLongName(item.name) || isLongName(item.namespace))
        throw tooLong(itemPath(turn, at), "name", MAX_NAME);
      if (isLongId(item.id) || isLongId(item.itemId))
        throw tooLong(itemPath(turn, at), "id", MAX_ID);
      return;
    case "result":
      if (isLongId(item.call) || isLongId(item.itemId))
        throw tooLong(itemPath(turn, at), "id", MAX_ID);
      if (isLongName(item.name) || item.declares?.tools.some(hasLongName) === true)
        throw tooLong(itemPath(turn, at), "name", MAX_NAME);
      return;
    case "message":
      if (isLongName(item.name)) throw tooLong(itemPath(turn, at), "name", MAX_NAME);
      if (isLongId(item.id)) throw tooLong(itemPath(turn, at), "id", MAX_ID);
      return;
    case "reasoning":
      if (isLongId(item.id)) throw tooLong(itemPath(turn, at), "id", MAX_ID);
      return;
    case "opaque":
      if (item.declares?.tools.some(hasLongName) === true)
        throw tooLong(itemPath(turn, at), "name", MAX_NAME);
      return;
    default:
      item satisfies never;
  }
}

const isLongName = (name: string | undefined): boolean => (name?.length ?? 0) > MAX_NAME;
const isLongId = (id: string | undefined): boolean => (id?.length ?? 0) > MAX_ID;

const hasLongName = (tool: Tool | Callable): boolean =>
  isLongName(tool.name) ||
  (tool.type === "builtin" && isLongName(tool.kind)) ||
  (tool.type === "namespace" && tool.tools.some(hasLongName));

const isLongRef = ({ kind, name, namespace }: ToolRef): boolean =>
  isLongName(kind) || isLongName(name) || isLongName(namespace);

const tooLong = (param: string, what: string, most: number): Fault =>
  new Fault(
    "request.invalid",
    `\`${param}\` has ${what === "id" ? "an id" : "a name"} of more than ${most} characters; choose a shorter one.`,
    { param },
  );
