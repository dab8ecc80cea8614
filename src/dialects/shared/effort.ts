import type { Decision } from "../../turn/decision.ts";
import type { AnyName } from "../../turn/names.ts";
import type { EffortRule, Profile } from "../../turn/profile.ts";
import type { DialectName, Fields, Turn } from "../../turn/turn.ts";

/** How an effort is written for an upstream; undefined: as it is. */
export function effortRule(
  effort: string | undefined,
  { effort: rules }: Profile,
): EffortRule | undefined {
  if (effort === undefined || rules === undefined) return undefined;
  // An effort is a client's word: `constructor` must not find what every object has.
  return Object.hasOwn(rules, effort) ? rules[effort] : rules["*"];
}

type EffortRequest<Name extends AnyName> = {
  readonly turn: Turn<Name>;
  readonly dialect: DialectName;
  readonly profile: Profile;
  /** Where the client asks for it. */
  readonly path: string;
  /** Where the upstream wants the word for it, if it has any. */
  readonly target: string | undefined;
};

type WrittenEffort = {
  readonly word: string | undefined;
  /** Other fields that go with it. */
  readonly fields: Fields;
  readonly decisions: readonly Decision[];
};

/** Writes an effort for an upstream that has a form of its own for it. */
export function writeEffort<Name extends AnyName>(
  rule: EffortRule,
  asked: EffortRequest<Name>,
): WrittenEffort {
  const { turn, dialect, profile, path, target } = asked;
  const { as = turn.params.effort, fields = {}, changed } = rule;
  const own = turn.extra.dialect === dialect ? turn.extra.fields : {};
  const besides = Object.entries(fields).filter(
    ([key, value]) => value !== null && own[key] == null,
  );
  const word = target === undefined ? undefined : (as ?? undefined);
  const reason =
    word === undefined
      ? "how much it thinks is left to the upstream"
      : `the ${profile.name} profile has nothing nearer than \`${word}\``;
  return {
    word,
    fields: Object.fromEntries(besides),
    decisions: changed === true ? [{ path, action: "changed", reason }] : [],
  };
}
