import { declarationsOf } from "../../tools/plan/toolset.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Turn } from "../../turn/turn.ts";
import { assembleFold } from "./assemble.ts";
import { candidatesIn, type Candidate, type Candidates } from "./candidates.ts";
import type { Folded } from "./folded.ts";
import { groupTools, type Group } from "./group.ts";
import { needsFolding, strategyFor } from "./needs-folding.ts";
import type { DisclosureSettings } from "./settings.ts";

/** Groups of so few tools are declared as they are: a line and a reading would cost as much. */
const FEW = 2;
/** But no more tools than this in all. */
const MOST_FEW = 8;

/** The fold of a list of tools that was made before: agents send the same list for hours. */
type KnownFolds = WeakMap<Profile, Map<string, Folded | null>>;
const known = memoizeByIdentity<object, KnownFolds>(() => new WeakMap());
/** How many choices and settings are remembered with one list. */
const MOST = 64;

/** A request's tools as an upstream is to be shown them; undefined where they are shown as they are. */
export function foldTools(
  turn: Turn,
  profile: Profile,
  settings: DisclosureSettings,
): Folded | undefined {
  if ((turn.params.n ?? 1) > 1 || settings.mode === "off" || settings.mode === "eager")
    return undefined;
  const byProfile = known(declarationsOf(turn));
  let made = byProfile.get(profile);
  if (made === undefined) byProfile.set(profile, (made = new Map()));
  const key = JSON.stringify([settings, turn.toolChoice, turn.dialect]);
  let found = made.get(key);
  if (found === undefined) {
    found = fold(turn, profile, settings) ?? null;
    if (made.size < MOST) made.set(key, found);
  }
  return found ?? undefined;
}

function fold(turn: Turn, profile: Profile, settings: DisclosureSettings): Folded | undefined {
  let candidates = candidatesIn(turn, { profile, takesFound: false });
  if (candidates.fixed.length + 2 > profile.tools.max)
    candidates = candidatesIn(turn, { profile, takesFound: true });
  if (!needsFolding(turn, profile, candidates, settings)) return undefined;
  const strategy = strategyFor(settings, profile);
  const loaders = strategy === "wrap" ? 2 : 1;
  const room = profile.tools.max - candidates.fixed.length - loaders;
  const folding = chosen(candidates, room, strategy);
  if (folding.length === 0 && candidates.forbidden.length === 0) return undefined;
  return assembleFold(turn, { profile, candidates, folding, strategy });
}

/** The groups that stand behind the loader. */
function chosen(
  { deferrable }: Candidates,
  room: number,
  strategy: Folded["strategy"],
): readonly Group<Candidate>[] {
  // Where the client says itself what may wait, the rest stays if there is room for it.
  const marked = deferrable.filter(({ isMarked }) => isMarked);
  const unmarked = deferrable.length - marked.length;
  const waiting = marked.length > 0 && unmarked <= room ? marked : deferrable;
  const groups = groupTools(
    waiting.map((candidate) => ({
      name: candidate.entry.name,
      namespace: candidate.entry.namespace,
      candidate,
    })),
  ).map(({ key, title, members }) => {
    const own = members.map(({ candidate }) => candidate);
    return { key, title, members: own };
  });
  const isFew = ({ members }: Group<Candidate>): boolean =>
    members.length <= FEW && members.every(({ isMarked }) => !isMarked);
  const few = groups.filter(isFew).flatMap(({ members }) => members).length;
  // A list that grows needs room to grow in.
  const spare = strategy === "wrap" || strategy === "native" ? room : Math.floor(room / 2);
  return few <= Math.min(spare, MOST_FEW) ? groups.filter((group) => !isFew(group)) : groups;
}
