import type { NamespaceTool } from "../../turn/turn.ts";

/** A longer description is added to the first tool of a namespace only. */
const LONG = 300;

/**
 * A namespace is no tool but a group of them. Where an upstream has no such
 * groups, each member is a tool of its own under both names, and the description
 * of the group is added to its members'.
 */
export function memberDescription(
  own: string | undefined,
  group: NamespaceTool,
  isFirst: boolean,
): string | undefined {
  const { name, description = "" } = group;
  if (description === "" || (description.length > LONG && !isFirst)) return own;
  const remark = `Part of \`${name}\`: ${description}`;
  return own === undefined || own === "" ? remark : `${own}\n\n${remark}`;
}
