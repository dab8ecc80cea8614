/** Bounds the names and ids in a request, because work on them is done character by character. */

import { Fault } from "../../turn/fault.ts";
import { itemPath, toolPath } from "../../turn/path.ts";
import type { Callable, Tool, ToolDeclarations, ToolRef, Turn } from "../../turn/turn.ts";

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
      throw longName(toolPath(tool, at));
  }
  for (let at = 0; at < items.length; at++) {
    const item = items[at];
    if (item !== undefined) checkItem(turn, item, at);
  }
  if (
    (toolChoice?.type === "tool" && isLongRef(toolChoice.tool)) ||
    (toolChoice?.type === "allowed" && toolChoice.tools.some(isLongRef))
  )
    throw longName(turn.traits.toolChoice);
  if (format?.type === "schema" && isLongName(format.name)) throw longName(turn.traits.format.path);
  return turn;
}

/** The names and ids that items of any type have. */
type Named = {
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
  readonly id?: string | undefined;
  readonly itemId?: string | undefined;
  readonly call?: string | undefined;
  readonly declares?: ToolDeclarations | undefined;
};

function checkItem(turn: Turn, item: Named, at: number): void {
  const { name, namespace, id, itemId, call, declares } = item;
  if (
    (name?.length ?? 0) > MAX_NAME ||
    (namespace?.length ?? 0) > MAX_NAME ||
    declares?.tools.some(hasLongName) === true
  )
    throw longName(itemPath(turn, at));
  if ((id?.length ?? 0) > MAX_ID || (itemId?.length ?? 0) > MAX_ID || (call?.length ?? 0) > MAX_ID)
    throw tooLong(itemPath(turn, at), "an id", MAX_ID);
}

const isLongName = (name: string | undefined): boolean => (name?.length ?? 0) > MAX_NAME;

const hasLongName = (tool: Tool | Callable): boolean =>
  isLongName(tool.name) ||
  (tool.type === "builtin" && isLongName(tool.kind)) ||
  (tool.type === "namespace" && tool.tools.some(hasLongName));

const isLongRef = ({ kind, name, namespace }: ToolRef): boolean =>
  isLongName(kind) || isLongName(name) || isLongName(namespace);

const longName = (param: string): Fault => tooLong(param, "a name", MAX_NAME);

const tooLong = (param: string, what: string, most: number): Fault =>
  new Fault(
    "request.invalid",
    `\`${param}\` has ${what} of more than ${most} characters; choose a shorter one.`,
    { param },
  );
