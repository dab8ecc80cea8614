import type { Action, Decision } from "../../turn/decision.ts";
import { Fault } from "../../turn/fault.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { ToolChoiceForm, Profile } from "../../turn/profile.ts";
import type { ToolChoice, Tool, ToolRef, Turn } from "../../turn/turn.ts";
import { fullName, isCalledByName, type Bound } from "../names/identity.ts";
import { descriptionRests } from "./declare.ts";
import { toolKindOf } from "../kinds/kinds.ts";
import { renderProviderToolDeclarations, type Toolset } from "./toolset.ts";

/** The tools of a toolset under one choice, in the upstream's words. */
export type ToolOffer = {
  readonly toolChoice: ToolChoice<UpstreamName> | undefined;
  readonly tools: readonly Tool<UpstreamName>[];
  /** The tools that an answer may call, enforced on the answer; undefined: any. */
  readonly allowed: ReadonlySet<Bound> | undefined;
  readonly decisions: readonly Decision[];
  readonly identical: boolean;
  /** The ends of descriptions that were too long. */
  readonly rests: readonly string[];
};

type Asked = Pick<Turn, "toolChoice" | "dialect" | "traits">;

/** Distinct choices that are remembered with one list of tools. */
const MAX_OFFERS = 64;

/** The offer for a turn's choice. Throws a Fault if the choice names a tool that is not declared. */
export function offerFor(set: Toolset, turn: Asked, profile: Profile): ToolOffer {
  const { toolChoice } = turn;
  const key = toolChoice === undefined ? turn.dialect : turn.dialect + JSON.stringify(toolChoice);
  const known = set.offers.get(key);
  if (known !== undefined) return known;
  const made = new ChoicePlanner(set, profile, turn.traits.toolChoice).plan(
    toolChoice,
    turn.dialect,
  );
  const { tools = set.tools, decisions = [], identical = true } = made;
  const offer: ToolOffer = {
    toolChoice: made.toolChoice,
    tools,
    allowed: made.allowed,
    decisions: [...set.decisions, ...decisions],
    identical,
    rests: descriptionRests(set.offered, tools),
  };
  if (set.offers.size < MAX_OFFERS) set.offers.set(key, offer);
  return offer;
}

/** Without decisions, the upstream is asked for what the client asked. */
type ChoicePlan = Partial<Omit<ToolOffer, "rests">>;

class ChoicePlanner {
  readonly #set: Toolset;
  readonly #profile: Profile;
  /** The field of the choice in the client's request. */
  readonly #path: string;

  constructor(set: Toolset, profile: Profile, path: string) {
    this.#set = set;
    this.#profile = profile;
    this.#path = path;
  }

  plan(choice: ToolChoice | undefined, dialect: string): ChoicePlan {
    if (choice === undefined) return {};
    if (this.#set.offered.length === 0) return this.#withoutTools(choice, dialect);
    switch (choice.type) {
      case "auto":
        // Every upstream defaults to it, so leaving it out is no loss.
        return { toolChoice: this.#mode("auto"), identical: this.#can("auto") };
      case "none": {
        const made = { ...this.#callNothing(), allowed: new Set<Bound>() };
        if (this.#can("none")) return made;
        const reason = "the upstream has no `none`, so the tools are not sent";
        return this.#decided(made, "reshaped", reason);
      }
      case "required":
        if (this.#can("required")) return { toolChoice: { type: "required" } };
        return this.#decided(
          { toolChoice: this.#mode("auto") },
          "changed",
          "the upstream cannot force the model to call a tool",
        );
      case "tool":
        return this.#forced(choice.tool);
      case "allowed":
        return this.#allowed(choice);
      default:
        return choice satisfies never;
    }
  }

  #can(form: ToolChoiceForm): boolean {
    return this.#profile.tools.choice.includes(form);
  }

  #mode(asked: "auto" | "required"): ToolChoice<UpstreamName> | undefined {
    if (asked === "required" && this.#can("required")) return { type: "required" };
    return this.#can("auto") ? { type: "auto" } : undefined;
  }

  /** Keeps an upstream from calling, by `none` or by offering no tools. */
  #callNothing(): Pick<ChoicePlan, "toolChoice" | "tools"> {
    return this.#can("none") ? { toolChoice: { type: "none" } } : { tools: [] };
  }

  #withoutTools(choice: ToolChoice, dialect: string): ChoicePlan {
    const isDeclared = this.#set.verdicts.length > 0;
    if (choice.type === "auto" || choice.type === "none") {
      const isTaken = this.#profile.dialect === dialect && this.#can(choice.type);
      if (isTaken && !isDeclared) return { toolChoice: { type: choice.type } };
      return this.#decided({}, "repaired", "it has no effect without tools");
    }
    if (isDeclared) {
      const reason = "the upstream gets none of the declared tools, so the model cannot call one";
      return this.#decided({}, "changed", reason);
    }
    throw this.#unmet(
      `\`${this.#path}\` asks for a tool to be called, and no tools are declared. Declare some or leave it out.`,
    );
  }

  #forced(ref: ToolRef): ChoicePlan {
    const [bound] = this.#find(ref);
    if (bound === undefined) {
      const reason = `\`${fullName(ref)}\` is not offered to the upstream, so the model cannot call it`;
      return this.#decided({ toolChoice: this.#mode("auto") }, "changed", reason);
    }
    // After a tool that the provider runs, the model may call any other.
    const allowed = isCalledByName(bound.upstream.kind) ? new Set([bound]) : undefined;
    if (this.#can("function")) {
      const tool = refOf(bound);
      return { toolChoice: { type: "tool", tool }, allowed, identical: isSame(tool, ref) };
    }
    return this.#decided(
      {
        toolChoice: this.#mode("required"),
        tools: renderProviderToolDeclarations([bound]),
        allowed,
      },
      this.#can("required") ? "reshaped" : "changed",
      "the upstream cannot force a call of one tool, so only that tool is sent",
    );
  }

  #allowed(choice: Extract<ToolChoice, { type: "allowed" }>): ChoicePlan {
    const found = choice.tools.map((ref) => this.#find(ref));
    const allowed = new Set(found.flat());
    const lost = choice.tools
      .filter((_, at) => found[at]?.length === 0)
      .map((ref): Decision => {
        const reason = `\`${fullName(ref)}\` is not offered to the upstream, so the model cannot call it`;
        return { path: this.#path, action: "dropped", reason };
      });
    if (allowed.size === 0) {
      const reason = "the upstream gets none of the allowed tools, so the model cannot call one";
      return this.#decided({ ...this.#callNothing(), allowed }, "changed", reason, lost);
    }
    if (this.#can("allowed")) {
      const tools = [...allowed].map(refOf);
      const identical =
        lost.length === 0 &&
        tools.length === choice.tools.length &&
        tools.every((tool, at) => isSame(tool, choice.tools[at]));
      return { toolChoice: { ...choice, tools }, allowed, decisions: lost, identical };
    }
    const isMet = choice.mode === "auto" || this.#can("required");
    return this.#decided(
      {
        toolChoice: this.#mode(choice.mode),
        tools: renderProviderToolDeclarations([...allowed]),
        allowed,
      },
      isMet ? "reshaped" : "changed",
      isMet
        ? "the upstream does not support allowed tools, so only those are sent"
        : "only the allowed tools are sent, and the upstream cannot force the model to call one of them",
      lost,
    );
  }

  /** The tools that an entry of a choice names: several for a namespace, none if it is not offered. */
  #find(ref: ToolRef): readonly Bound[] {
    const { identity, offered, verdicts } = this.#set;
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
    throw this.#unmet(unmetText(this.#path, ref, offered));
  }

  #decided(
    made: ChoicePlan,
    action: Action,
    reason: string,
    more: readonly Decision[] = [],
  ): ChoicePlan {
    return {
      ...made,
      decisions: [{ path: this.#path, action, reason }, ...more],
      identical: false,
    };
  }

  #unmet(message: string): Fault {
    return new Fault("tools.choice_unmet", message, { param: this.#path });
  }
}

function unmetText(path: string, ref: ToolRef, offered: readonly Bound[]): string {
  const asked = `\`${path}\` names \`${fullName(ref)}\``;
  const names = offered.map(({ client }) => `\`${fullName(client)}\``);
  const { name } = ref;
  const member = offered.findIndex(({ client }) => client.namespace === String(name));
  if (member === -1) return `${asked}, which is not declared; it can be ${names.join(", ")}.`;
  const form = JSON.stringify({ type: "namespace", name });
  return `${asked}, which is a namespace, not a tool; name one of its tools, such as ${names[member]}, or allow all of them with ${form}.`;
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

/** True if an entry of a choice names the whole namespace of a tool. */
const isMember = ({ namespace }: Pick<ToolRef, "namespace">, { kind, name }: ToolRef): boolean =>
  kind === "namespace" && namespace === String(name);

/** Tools without a separate name are chosen by their kind, which may be an older name of it. */
function builtin(ref: ToolRef, offered: readonly Bound[]): Bound | undefined {
  return offered.find(({ client }) => {
    if (!isOneKind(client.kind, ref.kind)) return false;
    // A server's tool is chosen by the server it belongs to.
    return ref.kind !== "mcp" || client.name === (ref.namespace ?? String(ref.name));
  });
}

function isOneKind(one: string, other: string): boolean {
  if (isCalledByName(other)) return false;
  return one === other || (toolKindOf(one) !== undefined && toolKindOf(one) === toolKindOf(other));
}
