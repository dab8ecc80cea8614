import { catalogOf, type Catalog } from "../../agent/catalog.ts";
import { loaderNames } from "../../agent/loader.ts";
import { section } from "../../agent/section.ts";
import type { Entry } from "../../tools/plan/toolset.ts";
import type { ToolVerdict } from "../../tools/plan/plan.ts";
import { fullName, identityKey } from "../../tools/names/identity.ts";
import { clientName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import type { ToolChoice, Fields, Turn } from "../../turn/turn.ts";
import { toolBytes } from "./bytes.ts";
import type { Candidate, Candidates } from "./candidates.ts";
import { directTools } from "./direct.ts";
import type { Folded, FoldedTool } from "./folded.ts";
import type { Group } from "./group.ts";
import { foldingOn, isSearching } from "./needs-folding.ts";

type Parts = {
  readonly profile: Profile;
  readonly candidates: Candidates;
  /** The groups that stand behind the loader. */
  readonly folding: readonly Group<Candidate>[];
  readonly strategy: Folded["strategy"];
};

/** Makes the fold of a request: names, sections, what stays, and the choice among all that. */
export function assembleFold(turn: Turn, parts: Parts): Folded {
  const { profile, candidates, folding, strategy } = parts;
  const { deferrable, fixed, forbidden } = candidates;
  const behind = folding.flatMap(({ members }) => members.map(({ entry }) => entry));
  const taken = new Set([...behind, ...forbidden]);
  const staying = [...fixed, ...deferrable.map(({ entry }) => entry)].filter(
    (entry) => !taken.has(entry),
  );
  const tools = nameTools(folding, new Set(staying.map(({ name }) => name)));
  const all = [...tools.values()];
  const names = loaderNames(
    new Set([...tools.keys(), ...[...staying, ...taken].map(({ name }) => String(name))]),
  );
  const forced = all.filter(({ path }) => path === candidates.forced?.entry.path);
  return {
    ...directTools(turn, taken, isSearching(turn) && behind.length > 0),
    strategy,
    catalog: catalogFor(folding, all, strategy),
    names,
    tools,
    byIdentity: new Map(all.map((one) => [identityKey({ kind: "function", ...one.client }), one])),
    aliases: aliasesOf(all),
    forbidden: new Set(forbidden.map(identityKey)),
    forced: new Set(forced.map(({ name }) => name)),
    choice: choiceFor(turn.toolChoice, forced),
    deferred: [
      ...all.map((one) => deferredVerdict(one, names.read)),
      ...forbidden.map(forbiddenVerdict),
    ],
    max: profile.tools.max,
    maxDescription: foldingOn(profile).capabilities.maxDescription,
    eagerBytes: toolBytes(
      [...fixed, ...deferrable.map(({ entry }) => entry), ...forbidden].map(({ tool }) => tool),
    ),
  };
}

/**
 * What the catalogue calls each tool: its own name where no other tool has it,
 * else that with its namespace before it.
 */
function nameTools(
  folding: readonly Group<Candidate>[],
  staying: ReadonlySet<string>,
): ReadonlyMap<string, FoldedTool> {
  const counts = new Map<string, number>();
  const members = folding.flatMap(({ key, members: some }) => some.map((one) => ({ key, one })));
  for (const { one } of members) counts.set(one.entry.name, (counts.get(one.entry.name) ?? 0) + 1);
  const tools = new Map<string, FoldedTool>();
  for (const { key, one } of members) {
    const { name, namespace, path } = one.entry;
    const isOnly = counts.get(name) === 1 && !staying.has(name);
    const wanted = isOnly || namespace === undefined ? name : joinedName(namespace, name);
    let free: string = wanted;
    for (let number = 2; tools.has(free) || (staying.has(free) && free !== name); number++)
      free = `${wanted}_${number}`;
    const client = { name, ...(namespace !== undefined && { namespace }) };
    tools.set(free, { name: free, client, tool: one.tool, path, section: key });
  }
  return tools;
}

const joinedName = (namespace: string, name: string): string =>
  namespace.endsWith("__") ? namespace + name : `${namespace}__${name}`;

const NO_ARGUMENTS: Fields = { type: "object", properties: {} };

function catalogFor(
  folding: readonly Group<Candidate>[],
  all: readonly FoldedTool[],
  strategy: Folded["strategy"],
): Catalog {
  const bySection = Map.groupBy(all, ({ section: key }) => key);
  return catalogOf(
    folding.map(({ key, title, members }) => {
      const own = bySection.get(key) ?? [];
      return section(key, {
        title,
        summary: () => title,
        body: () => bodyOf(members, own, strategy),
        tools: own.map(({ name, tool }) => ({
          name,
          description: tool.description ?? "",
          schema: tool.schema ?? NO_ARGUMENTS,
          strict: tool.strict,
        })),
      });
    }),
  );
}

/** What the client says of the namespace, and how the tools can be called where no definitions follow. */
function bodyOf(
  members: readonly Candidate[],
  own: readonly FoldedTool[],
  strategy: Folded["strategy"],
): string {
  const group = members[0]?.entry.group;
  const isShared = members.every(({ entry }) => entry.group === group);
  const said = isShared ? (group?.description ?? "") : "";
  if (strategy === "wrap" || strategy === "native") return said;
  const listed = `These tools can be called now: ${own.map(({ name }) => name).join(", ")}.`;
  return said === "" ? listed : `${said}\n\n${listed}`;
}

/** Other names that models write: with the namespace in one form or another, or without a server's prefix. */
function aliasesOf(tools: readonly FoldedTool[]): Folded["aliases"] {
  const aliases = new Map<string, FoldedTool | null>();
  const learn = (alias: string, tool: FoldedTool): void => {
    const other = aliases.get(alias);
    aliases.set(alias, other === undefined || other === tool ? tool : null);
  };
  for (const tool of tools) {
    const { name, namespace } = tool.client;
    learn(name, tool);
    learn(`functions.${tool.name}`, tool);
    const [, bare] = /^mcp__.+?__(.+)$/s.exec(name) ?? [];
    if (bare !== undefined) learn(bare, tool);
    learn(`${tool.section}.${tool.name}`, tool);
    if (namespace === undefined) continue;
    for (const joint of [".", "__", "/", ":", ""]) learn(namespace + joint + name, tool);
  }
  return aliases;
}

/** Tools that are forced are declared by themselves; a list of allowed ones has become the catalogue. */
function choiceFor(
  choice: ToolChoice | undefined,
  [forced]: readonly FoldedTool[],
): ToolChoice | undefined {
  if (choice?.type === "tool" && forced !== undefined)
    return { type: "tool", tool: { kind: "function", name: clientName(forced.name) } };
  return choice?.type === "allowed" ? { type: choice.mode } : choice;
}

const deferredVerdict = (
  { client, name, section: key, path }: FoldedTool,
  loader: string,
): ToolVerdict => ({
  path,
  kind: "function",
  ...client,
  verdict: "deferred",
  upstreamName: name,
  reason: `in the section \`${key}\`, which the model opens with \`${loader}\``,
});

const forbiddenVerdict = (entry: Entry): ToolVerdict => ({
  path: entry.path,
  kind: entry.kind,
  namespace: entry.namespace,
  name: entry.name,
  verdict: "deferred",
  reason: `\`${fullName(entry)}\` is not among the allowed tools, so it is not shown`,
});
