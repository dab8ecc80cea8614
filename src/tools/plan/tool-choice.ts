import type { Action, Decision } from "../../turn/decision.ts";
import { Fault } from "../../turn/fault.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { ToolChoiceForm, Profile } from "../../turn/profile.ts";
import type { ToolChoice, DialectName, Tool, ToolRef } from "../../turn/turn.ts";
import type { Bound, Identities, ToolVerdict } from "./declare.ts";
import { fullName, isCalledByName } from "../names/identity.ts";
import { kindOf } from "../kinds/kinds.ts";
import { renderProviderToolDeclarations } from "./toolset.ts";

/** Which tools may or must be called, in the upstream's words. */
export type ToolChoicePlan = {
  readonly toolChoice: ToolChoice<UpstreamName> | undefined;
  /** The tools to offer under it. */
  readonly tools: readonly Tool<UpstreamName>[];
  /** The tools an answer may call, to be held against it; none named: any. */
  readonly allowed: ReadonlySet<Bound> | undefined;
  readonly decisions: readonly Decision[];
  readonly identical: boolean;
};

/** What there is to choose from. */
export type Offered = {
  readonly identity: Identities;
  readonly offered: readonly Bound[];
  readonly tools: readonly Tool<UpstreamName>[];
  readonly verdicts: readonly ToolVerdict[];
};

/** Plans a choice. Throws a Fault if it names a tool that nobody declared. */
export function planToolChoice(
  choice: ToolChoice | undefined,
  offer: Offered,
  { profile, dialect }: { readonly profile: Profile; readonly dialect: DialectName },
): ToolChoicePlan {
  const can = (form: ToolChoiceForm): boolean => profile.tools.choice.includes(form);
  const mode = (asked: "auto" | "required"): ToolChoice<UpstreamName> | undefined => {
    if (asked === "required" && can("required")) return { type: "required" };
    return can("auto") ? { type: "auto" } : undefined;
  };
  const plan = (made: Partial<ToolChoicePlan>, action?: Action, reason = ""): ToolChoicePlan => ({
    toolChoice: undefined,
    tools: offer.tools,
    allowed: undefined,
    identical: action === undefined,
    decisions: action === undefined ? [] : [{ path: "tool_choice", action, reason }],
    ...made,
  });
  if (choice === undefined) return plan({});
  if (offer.offered.length === 0) {
    const isTaken = profile.dialect === dialect && can(choice.type === "none" ? "none" : "auto");
    return planWithoutTools(choice, offer, isTaken, plan);
  }

  switch (choice.type) {
    case "auto":
      // The default of every upstream.
      return plan({ toolChoice: mode("auto"), identical: can("auto") });
    case "none":
      if (can("none")) return plan({ ...callNothing(can), allowed: new Set() });
      return plan(
        { ...callNothing(can), allowed: new Set() },
        "reshaped",
        "the upstream cannot be told to call nothing, so it is offered nothing",
      );
    case "required":
      if (can("required")) return plan({ toolChoice: { type: "required" } });
      return plan(
        { toolChoice: mode("auto") },
        "changed",
        "the upstream cannot be made to call a tool",
      );
    case "tool":
      return planForced(choice.tool, offer, { can, mode, plan });
    case "allowed":
      return planAllowed(choice, offer, { can, mode, plan });
    default:
      return choice satisfies never;
  }
}

type Planner = {
  readonly can: (form: ToolChoiceForm) => boolean;
  readonly mode: (asked: "auto" | "required") => ToolChoice<UpstreamName> | undefined;
  readonly plan: (
    made: Partial<ToolChoicePlan>,
    action?: Action,
    reason?: string,
  ) => ToolChoicePlan;
};

/** How an upstream is kept from calling: by `none`, or by offering nothing. */
const callNothing = (
  can: Planner["can"],
): Pick<ToolChoicePlan, "toolChoice"> | Pick<ToolChoicePlan, "tools"> =>
  can("none") ? { toolChoice: { type: "none" } } : { tools: [] };

function planForced(ref: ToolRef, offer: Offered, { can, mode, plan }: Planner): ToolChoicePlan {
  const [bound] = find(ref, offer);
  if (bound === undefined) {
    const reason = `\`${fullName(ref)}\` is not offered, so it cannot be called`;
    return plan({ toolChoice: mode("auto") }, "changed", reason);
  }
  const allowed = isHosted(bound) ? undefined : new Set([bound]);
  if (can("function")) {
    const tool = refOf(bound);
    return plan({ toolChoice: { type: "tool", tool }, allowed, identical: isSame(tool, ref) });
  }
  return plan(
    { toolChoice: mode("required"), tools: renderProviderToolDeclarations([bound]), allowed },
    can("required") ? "reshaped" : "changed",
    "the upstream cannot be made to call one tool, so it is offered no other",
  );
}

/** What the provider runs itself comes first and not alone: afterwards the model may call what it likes. */
const isHosted = ({ upstream: { kind } }: Bound): boolean => !isCalledByName(kind);

function planAllowed(
  choice: Extract<ToolChoice, { type: "allowed" }>,
  offer: Offered,
  { can, mode, plan }: Planner,
): ToolChoicePlan {
  const found = choice.tools.map((ref) => find(ref, offer));
  const allowed = new Set(found.flat());
  const lost = choice.tools
    .filter((_, at) => found[at]?.length === 0)
    .map((ref) => ({
      path: "tool_choice",
      action: "dropped" as const,
      reason: `\`${fullName(ref)}\` is not offered, so it cannot be allowed`,
    }));
  if (allowed.size === 0) {
    const reason = "none of the allowed tools is offered, so none can be called";
    const made = plan({ ...callNothing(can), allowed }, "changed", reason);
    return { ...made, decisions: [...made.decisions, ...lost] };
  }
  if (can("allowed")) {
    const tools = [...allowed].map(refOf);
    const identical =
      lost.length === 0 &&
      tools.length === choice.tools.length &&
      tools.every((tool, at) => isSame(tool, choice.tools[at]));
    return plan({ toolChoice: { ...choice, tools }, allowed, decisions: lost, identical });
  }
  const forced = choice.mode === "auto" || can("required");
  const made = plan(
    { toolChoice: mode(choice.mode), tools: renderProviderToolDeclarations([...allowed]), allowed },
    forced ? "reshaped" : "changed",
    forced
      ? "the upstream takes no list of allowed tools, so only those are offered"
      : "only the allowed tools are offered; the upstream cannot be made to call one of them",
  );
  return { ...made, decisions: [...made.decisions, ...lost] };
}

/** A choice among nothing. */
function planWithoutTools(
  choice: ToolChoice,
  { verdicts }: Offered,
  isTaken: boolean,
  plan: Planner["plan"],
): ToolChoicePlan {
  if (choice.type === "auto" || choice.type === "none") {
    if (isTaken && verdicts.length === 0) return plan({ toolChoice: { type: choice.type } });
    return plan({}, "repaired", "it says nothing without tools");
  }
  if (verdicts.length > 0)
    return plan({}, "changed", "none of the declared tools is offered, so none can be called");
  throw new Fault(
    "tools.choice_unmet",
    "`tool_choice` asks for a tool to be called, and no tools are declared. Declare some or leave it out.",
    { param: "tool_choice" },
  );
}

const refOf = ({ upstream: { kind, name, namespace } }: Bound): ToolRef<UpstreamName> => ({
  kind,
  name,
  namespace,
});

const isSame = (one: ToolRef<UpstreamName>, other: ToolRef | undefined): boolean =>
  one.kind === other?.kind &&
  String(one.name) === String(other.name) &&
  one.namespace === other.namespace;

/** The tools that an entry of a choice means: several for a namespace, none if what it means is not offered. */
function find(ref: ToolRef, { identity, offered, verdicts }: Offered): readonly Bound[] {
  const bound =
    identity.byIdentity(ref) ??
    builtin(ref, offered) ??
    identity.byName(ref.name, ref.namespace) ??
    (ref.namespace === undefined ? identity.byNickname(ref.name) : undefined);
  if (bound !== undefined) return [bound];
  const members = offered.filter(({ client }) => isMember(client, ref));
  if (members.length > 0) return members;
  const isDeclared = verdicts.some(
    (one) =>
      (one.name === String(ref.name) && one.namespace === ref.namespace) ||
      isOneKind(one.kind, ref.kind) ||
      isMember(one, ref),
  );
  if (isDeclared) return [];
  throw new Fault("tools.choice_unmet", unmetText(ref, offered), { param: "tool_choice" });
}

function unmetText(ref: ToolRef, offered: readonly Bound[]): string {
  const asked = `\`tool_choice\` names \`${fullName(ref)}\``;
  const names = offered.map(({ client }) => `\`${fullName(client)}\``);
  const { name } = ref;
  const member = offered.findIndex(({ client }) => client.namespace === String(name));
  if (member === -1) return `${asked}, which is not declared; it can be ${names.join(", ")}.`;
  const form = JSON.stringify({ type: "namespace", name });
  return `${asked}, which is a namespace and no tool; name one of its tools, such as ${names[member]}, or allow all of them with ${form}.`;
}

/** Whether an entry of a choice means the whole namespace that a tool is in. */
const isMember = ({ namespace }: Pick<ToolRef, "namespace">, { kind, name }: ToolRef): boolean =>
  kind === "namespace" && namespace === String(name);

/** Tools that have no name of their own are meant by their kind, be it by an older name of it. */
function builtin(ref: ToolRef, offered: readonly Bound[]): Bound | undefined {
  return offered.find(({ client }) => {
    if (!isOneKind(client.kind, ref.kind)) return false;
    // A server's tool is chosen by the server it belongs to.
    return ref.kind !== "mcp" || client.name === (ref.namespace ?? String(ref.name));
  });
}

function isOneKind(one: string, other: string): boolean {
  if (isCalledByName(other)) return false;
  return one === other || (kindOf(one) !== undefined && kindOf(one) === kindOf(other));
}
