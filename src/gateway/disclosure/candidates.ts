import { buildToolCatalog, type Entry } from "../../tools/plan/catalog.ts";
import { ruleFor } from "../../tools/plan/declare.ts";
import { fullName, identityKey, isCalledByName } from "../../tools/names/identity.ts";
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
  const isAllowed = allowedIn(turn.toolChoice);
  const seen = new Set<string>();
  for (const entry of buildToolCatalog(turn).entries) {
    const key = identityKey(entry);
    const isNamed = isCalledByName(entry.kind);
    if (isNamed && seen.has(key)) continue;
    seen.add(key);
    if (isNamed && !isAllowed(entry)) forbidden.push(entry);
    else if (entry.tool.type === "function" && isFoldable(entry, turn, rules))
      deferrable.push({ entry, tool: entry.tool, isMarked: isMarked(entry) });
    else fixed.push(entry);
  }
  const forced = deferrable.find(({ entry }) => isForced(entry, turn.toolChoice));
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

const isMeant = (ref: ToolRef, entry: Entry): boolean =>
  (ref.name === entry.name && ref.namespace === entry.namespace) ||
  (ref.namespace === undefined && String(ref.name) === fullName(entry));

const isForced = (entry: Entry, choice: ToolChoice | undefined): boolean =>
  choice?.type === "tool" && isMeant(choice.tool, entry);

function allowedIn(choice: ToolChoice | undefined): (entry: Entry) => boolean {
  if (choice?.type !== "allowed") return () => true;
  return (entry) => choice.tools.some((ref) => isMeant(ref, entry));
}
