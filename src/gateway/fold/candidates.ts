import { buildToolCatalog, type Entry } from "../../tools/plan/toolset.ts";
import { ruleFor } from "../../tools/plan/declare.ts";
import { identityKey, isCalledByName, joinedNames } from "../../tools/names/identity.ts";
import type { Profile } from "../../turn/profile.ts";
import type { ToolChoice, FunctionTool, ToolRef, Turn } from "../../turn/turn.ts";

/** A function that may stand behind a loader. */
export type Candidate = {
  readonly entry: Entry;
  readonly tool: FunctionTool;
  /** Whether the client itself asks for it to be loaded later. */
  readonly isMarked: boolean;
};

/** The tools of a request, by what may become of them. */
export type Candidates = {
  readonly deferrable: readonly Candidate[];
  /** Those that stay, in the order of the request. */
  readonly fixed: readonly Entry[];
  /** Those that `allowed_tools` leaves out. */
  readonly forbidden: readonly Entry[];
  /** The tool that must be called, if it is one that could be folded. */
  readonly forced: Candidate | undefined;
};

export type CandidateRules = {
  readonly profile: Profile;
  /** Whether tools that searches of the client's have brought may be folded as well. */
  readonly takesFound: boolean;
};

/** Sorts the tools of a request. Of tools that are declared twice, the first counts. */
export function candidatesIn(turn: Turn, rules: CandidateRules): Candidates {
  const deferrable: Candidate[] = [];
  const fixed: Entry[] = [];
  const forbidden: Entry[] = [];
  const { entries } = buildToolCatalog(turn);
  const choice = turn.toolChoice;
  const meant = finderOf(entries);
  const isAllowed = allowedIn(choice, meant);
  const seen = new Set<string>();
  for (const entry of entries) {
    const key = identityKey(entry);
    const isNamed = isCalledByName(entry.kind);
    if (isNamed && seen.has(key)) continue;
    seen.add(key);
    if (isNamed && !isAllowed(entry)) forbidden.push(entry);
    else if (entry.tool.type === "function" && isFoldable(entry, turn, rules))
      deferrable.push({ entry, tool: entry.tool, isMarked: isMarked(entry) });
    else fixed.push(entry);
  }
  const [chosen] = choice?.type === "tool" ? meant(choice.tool) : [];
  const forced = deferrable.find(({ entry }) => entry === chosen);
  return { deferrable, fixed, forbidden, forced };
}

/** Only functions can be called through another function; a search that the client ran has chosen its tools. */
function isFoldable(
  { item }: Entry,
  { items }: Turn,
  { profile, takesFound }: CandidateRules,
): boolean {
  if (ruleFor("function", profile) !== "native") return false;
  return takesFound || item === undefined || items[item]?.type !== "result";
}

/** The mark by which clients of every dialect ask for a tool to be loaded later. */
const isMarked = ({ tool, group }: Entry): boolean =>
  ("extra" in tool && tool.extra?.fields["defer_loading"] === true) ||
  group?.extra?.fields["defer_loading"] === true;

type Meant = (ref: ToolRef) => readonly Entry[];

/** Finds the tools that a choice means: by the exact name, else by one that only one tool could have, else all of a namespace. */
function finderOf(entries: readonly Entry[]): Meant {
  const byName = new Map<string, Entry[]>();
  for (const entry of entries)
    for (const name of [entry.name, ...joinedNames(entry.name, entry.namespace)]) {
      const named = byName.get(name);
      if (named === undefined) byName.set(name, [entry]);
      else named.push(entry);
    }
  const groups = Map.groupBy(entries, ({ namespace }) => namespace);
  return ({ kind, name, namespace }) => {
    if (kind === "namespace") return groups.get(name) ?? [];
    const named = byName.get(name) ?? [];
    const exact = named.filter((entry) => entry.name === name && entry.namespace === namespace);
    if (exact.length > 0) return exact;
    return namespace === undefined && named.length === 1 ? named : [];
  };
}

function allowedIn(choice: ToolChoice | undefined, meant: Meant): (entry: Entry) => boolean {
  if (choice?.type !== "allowed") return () => true;
  const allowed = new Set(choice.tools.flatMap(meant));
  return (entry) => allowed.has(entry);
}
