import type { Decision } from "../turn/decision.ts";
import { Fault } from "../turn/fault.ts";
import type { UpstreamName } from "../turn/names.ts";
import type { KindRule, Profile } from "../turn/profile.ts";
import type { Choice, Tool, Turn } from "../turn/turn.ts";
import { buildToolCatalog, type Entry } from "./catalog.ts";
import { planProviderToolChoice, type ChoicePlan } from "./choice.ts";
import { renameHistory } from "./history.ts";
import { createIdentityMap, fullName, type Binding, type ToolIdentityMap } from "./identity.ts";
import type { Kind } from "./kinds/kind.ts";
import { createProviderNameAllocator, nameCodecs, type NameAllocator } from "./names.ts";
import { renderProviderToolDeclarations } from "./render.ts";

export type Verdict = "native" | "degraded" | "deferred" | "ignored" | "refused";

/** What became of one declared tool, in words for the client. */
export type ToolVerdict = {
  readonly path: string;
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly verdict: Verdict;
  readonly upstreamName?: string | undefined;
  readonly reason: string;
};

/** A tool that is offered, under both its names. */
export type Bound = Binding & {
  readonly entry: Entry;
  readonly declaration: Tool<UpstreamName>;
  /** How its calls' inputs change form; none where they do not. */
  readonly form?: Pick<Kind, "encode" | "decoder"> | undefined;
};

export type Identities = ToolIdentityMap<Bound>;

/** What is done to one request so that one upstream can take it. */
export type Plan = {
  /** What the upstream is told. */
  readonly turn: Turn<UpstreamName>;
  readonly verdicts: readonly ToolVerdict[];
  readonly decisions: readonly Decision[];
  readonly identity: Identities;
  /** What the client allowed, to be held against what comes back. */
  readonly choice: ChoicePlan;
  /** Nothing is renamed, degraded, dropped or repaired: the client's own body may be sent. */
  readonly identical: boolean;
};

/** The part of a plan that the tools and the profile decide: agents send the same for hours. */
type Toolset = {
  readonly verdicts: readonly ToolVerdict[];
  readonly decisions: readonly Decision[];
  readonly identity: Identities;
  readonly allocate: NameAllocator;
  readonly tools: readonly Tool<UpstreamName>[];
  readonly identical: boolean;
  readonly choices: Map<string, ChoicePlan>;
};

/** Known toolsets. The dialects give the same array for the same tools. */
const toolsets = new WeakMap<readonly Tool[], WeakMap<Profile, Toolset>>();

/** Plans a request for an upstream. Throws a Fault where the request cannot be met. */
export function planTools(turn: Turn, profile: Profile): Plan {
  const set = toolsetOf(turn, profile);
  const choice = choiceOf(set, turn.choice, profile);
  const items = renameHistory(turn.items, set.identity);
  const untouched = set.identical && choice.identical && items === turn.items;
  const decisions =
    choice.decisions.length === 0 ? set.decisions : [...set.decisions, ...choice.decisions];
  return {
    // The names are the same on both sides, so the client's turn is the upstream's.
    turn: untouched
      ? (turn as unknown as Turn<UpstreamName>)
      : { ...turn, tools: choice.tools, choice: choice.choice, items },
    verdicts: set.verdicts,
    decisions,
    identity: set.identity,
    choice,
    identical: untouched,
  };
}

/** The plan's verdicts, counted, in the words and order of the `x-patchbay-plan` header. */
export function summary(plan: Pick<Plan, "verdicts">): string {
  const counts = { native: 0, degraded: 0, deferred: 0, ignored: 0, refused: 0 };
  for (const { verdict } of plan.verdicts) counts[verdict]++;
  const { native, degraded, deferred, ignored } = counts;
  return `native=${native} degraded=${degraded} deferred=${deferred} ignored=${ignored}`;
}

function toolsetOf(turn: Turn, profile: Profile): Toolset {
  let byProfile = toolsets.get(turn.tools);
  if (byProfile === undefined) toolsets.set(turn.tools, (byProfile = new WeakMap()));
  let set = byProfile.get(profile);
  if (set === undefined) byProfile.set(profile, (set = planToolset(turn, profile)));
  return set;
}

function choiceOf(set: Toolset, choice: Choice | undefined, profile: Profile): ChoicePlan {
  const key = choice === undefined ? "" : JSON.stringify(choice);
  let plan = set.choices.get(key);
  if (plan === undefined) {
    plan = planProviderToolChoice(choice, set, profile);
    set.choices.set(key, plan);
  }
  return plan;
}

function planToolset(turn: Turn, profile: Profile): Toolset {
  const { entries, hollow } = buildToolCatalog(turn);
  const decisions: Decision[] = [];
  const verdicts: ToolVerdict[] = hollow.map(({ path, name }) => {
    const reason = "the namespace holds no tools";
    decisions.push({ path, action: "repaired", reason });
    return { path, kind: "namespace", name, verdict: "ignored", reason };
  });
  const rules = entries.map((entry) => planToolDeclaration(entry, profile));
  const offered = entries.filter((_, at) => isOffered(rules[at]));
  assertMaxTools(offered.length, profile);

  const allocate = createProviderNameAllocator(
    profile.tools.names,
    nameCodecs[profile.tools.names.codec ?? "bend"],
  );
  const names = allocate(
    offered.map((entry) => ({
      name: entry.name,
      prefix: entry.namespace,
      rank: entry.tool.type === "builtin" ? 3 : entry.namespace === undefined ? 0 : 2,
    })),
  );
  const bounds: Bound[] = [];
  for (const [at, entry] of entries.entries()) {
    const rule = rules[at];
    if (rule === undefined) continue;
    const { path, kind, namespace, name } = entry;
    const upstream = isOffered(rule) ? names[bounds.length] : undefined;
    verdicts.push({ path, kind, namespace, name, ...rule, upstreamName: upstream });
    if (upstream === undefined) {
      decisions.push({ path, action: "dropped", reason: rule.reason });
      continue;
    }
    if (upstream !== String(name))
      decisions.push({ path, action: "renamed", reason: `sent as ${upstream}` });
    bounds.push(bind(entry, upstream));
  }
  const identical = decisions.length === 0;
  return {
    verdicts,
    decisions,
    identity: createIdentityMap(bounds),
    allocate,
    tools: identical
      ? (turn.tools as unknown as readonly Tool<UpstreamName>[])
      : renderProviderToolDeclarations(bounds),
    identical,
    choices: new Map(),
  };
}

const isOffered = (rule: Pick<ToolVerdict, "verdict"> | undefined): boolean =>
  rule?.verdict === "native" || rule?.verdict === "degraded";

function bind(entry: Entry, name: UpstreamName): Bound {
  const { kind, namespace } = entry;
  return {
    entry,
    client: { kind, namespace, name: entry.name },
    upstream: { kind, name },
    declaration: { ...entry.tool, name },
  };
}

/** What becomes of one tool on an upstream, and why. */
export function planToolDeclaration(
  entry: Entry,
  profile: Profile,
): Pick<ToolVerdict, "verdict" | "reason"> {
  const { kinds } = profile.tools;
  const rule: KindRule = kinds[entry.kind] ?? kinds["*"] ?? "ignore";
  switch (rule) {
    case "native":
      return { verdict: "native", reason: `the ${profile.name} profile has ${entry.kind} tools` };
    case "degrade":
    case "ignore":
      return {
        verdict: "ignored",
        reason: `the ${profile.name} profile has no ${entry.kind} tools`,
      };
    case "refuse":
      throw new Fault(
        "request.unsupported",
        `\`${fullName(entry)}\` is a ${entry.kind} tool, which the ${profile.name} profile refuses.`,
        { param: entry.path },
      );
    default:
      return rule satisfies never;
  }
}

export function assertMaxTools(count: number, profile: Profile): void {
  if (count <= profile.tools.max) return;
  throw new Fault(
    "tools.too_many",
    `The ${profile.name} profile takes at most ${profile.tools.max} tools and ${count} are declared. Declare fewer, or set \`tools.disclosure\` to \`auto\` so that the rest is offered on demand.`,
    { param: "tools" },
  );
}
