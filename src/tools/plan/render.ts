import type { UpstreamName } from "../../turn/names.ts";
import type { NamespaceTool, Tool } from "../../turn/turn.ts";
import type { Bound } from "./declare.ts";

/** The declarations as the upstream is sent them: members gathered in the namespaces that are kept. */
export function renderProviderToolDeclarations(bounds: readonly Bound[]): Tool<UpstreamName>[] {
  const tools: Tool<UpstreamName>[] = [];
  const groups = new Map<NamespaceTool, Bound["declaration"][]>();
  for (const { declaration, group, item } of bounds) {
    if (item !== undefined) continue;
    if (group === undefined) {
      tools.push(declaration);
      continue;
    }
    let members = groups.get(group);
    if (members === undefined) {
      groups.set(group, (members = []));
      tools.push({ ...group, tools: members });
    }
    members.push(declaration);
  }
  return tools;
}
