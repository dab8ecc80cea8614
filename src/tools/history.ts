import type { UpstreamName } from "../turn/names.ts";
import { upstreamName } from "../turn/names.ts";
import type { Item } from "../turn/turn.ts";
import type { Identities } from "./plan.ts";

/** Past calls under the names the upstream knows; the very same list where nothing changes. */
export function renameHistory(
  items: readonly Item[],
  identity: Identities,
): readonly Item<UpstreamName>[] {
  let renamed: Item<UpstreamName>[] | undefined;
  for (const [at, item] of items.entries()) {
    if (item.type !== "call") continue;
    const bound = identity.byIdentity(item) ?? identity.byName(item.name, item.namespace);
    if (bound === undefined) continue;
    const { name, namespace, kind } = bound.upstream;
    if (name === String(item.name) && namespace === item.namespace) continue;
    renamed ??= [...items] as unknown as Item<UpstreamName>[];
    renamed[at] = { ...item, kind, namespace, name: upstreamName(name) };
  }
  // Where no name differs the two kinds of name are the same.
  return renamed ?? (items as unknown as readonly Item<UpstreamName>[]);
}
