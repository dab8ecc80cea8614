import type { Decision } from "../turn/decision.ts";
import { Fault } from "../turn/fault.ts";
import type { UpstreamName } from "../turn/names.ts";
import type { ChoiceForm, Profile } from "../turn/profile.ts";
import type { Choice, Tool, ToolRef } from "../turn/turn.ts";
import { fullName } from "./identity.ts";
import type { Bound, Identities } from "./plan.ts";

export type ChoicePlan = {
  readonly choice: Choice<UpstreamName> | undefined;
  /** The tools to offer under it. */
  readonly tools: readonly Tool<UpstreamName>[];
  /** The tools the answer may call; none named: any. */
  readonly allowed: ReadonlySet<Bound> | undefined;
  readonly decisions: readonly Decision[];
  readonly identical: boolean;
};

type Offer = {
  readonly identity: Identities;
  readonly tools: readonly Tool<UpstreamName>[];
};

/** Says in the upstream's words which tools may or must be called. */
export function planProviderToolChoice(
  choice: Choice | undefined,
  offer: Offer,
  profile: Profile,
): ChoicePlan {
  const { tools } = offer;
  const can = (form: ChoiceForm): boolean => profile.tools.choice.includes(form);
  const same = (said: Choice<UpstreamName> | undefined): ChoicePlan => ({
    choice: said,
    tools,
    allowed: undefined,
    decisions: [],
    identical: true,
  });
  const bent = (plan: Partial<ChoicePlan>, reason: string): ChoicePlan => ({
    choice: undefined,
    tools,
    allowed: undefined,
    ...plan,
    decisions: [{ path: "tool_choice", action: "changed", reason }],
    identical: false,
  });
  if (choice === undefined) return same(undefined);

  switch (choice.type) {
    case "auto":
      return same({ type: "auto" });
    case "none":
      if (can("none")) return same({ type: "none" });
      return bent(
        { tools: [], allowed: new Set() },
        "the upstream cannot be told; no tool is sent",
      );
    case "required":
      if (can("required")) return same({ type: "required" });
      return bent({ choice: { type: "auto" } }, "the upstream cannot be made to call a tool");
    case "tool": {
      const bound = find(choice.tool, offer.identity);
      const { kind, name, namespace } = bound.upstream;
      if (can("function")) {
        const plan = same({ type: "tool", tool: { kind, name, namespace } });
        return { ...plan, identical: name === String(bound.client.name) };
      }
      return bent(
        {
          tools: [bound.declaration],
          choice: { type: can("required") ? "required" : "auto" },
        },
        "the upstream cannot be made to call one tool; only that one is offered",
      );
    }
    case "allowed": {
      const bounds = choice.tools.map((tool) => find(tool, offer.identity));
      const allowed = new Set(bounds);
      if (can("allowed")) {
        const refs = bounds.map(({ upstream }) => upstream);
        return { ...same({ ...choice, tools: refs }), allowed };
      }
      const required = choice.mode === "required" && can("required");
      return bent(
        {
          tools: [...allowed].map((bound) => bound.declaration),
          choice: { type: required ? "required" : "auto" },
          allowed,
        },
        "the upstream takes no list of allowed tools; only those are offered",
      );
    }
    default:
      return choice satisfies never;
  }
}

function find(ref: ToolRef, identity: Identities): Bound {
  const bound = identity.byIdentity(ref) ?? identity.byName(ref.name, ref.namespace);
  if (bound !== undefined) return bound;
  throw new Fault(
    "tools.choice_unmet",
    `\`tool_choice\` names \`${fullName(ref)}\`, which is not among the declared tools.`,
    { param: "tool_choice" },
  );
}
