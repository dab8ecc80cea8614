import type { NamespaceTool } from "../../turn/turn.ts";

/** A description this long is said once for a namespace, not with every tool of it. */
const LONG = 300;

/**
 * A namespace is no tool but a group of them. Where an upstream has no such
 * groups, each member stands for itself under both names, and what was said of
 * the group is said with its members.
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
