import { memoizeByIdentity } from "../../turn/memoize.ts";
import { upstreamName, type UpstreamName } from "../../turn/names.ts";
import type { NameRule } from "../../turn/profile.ts";

/** A name to be had at an upstream. */
export type NameRequest = {
  readonly name: string;
  /** The namespace the name is flattened out of; none where the upstream keeps namespaces. */
  readonly prefix?: string | undefined;
  /** Names are unique within a scope: one for the whole upstream, or one per kept namespace. */
  readonly scope?: string | undefined;
  /** Who yields in a clash: the higher number. */
  readonly rank: number;
};

/**
 * Turns a wished-for name into a lawful one, by the wish alone: the same wish
 * always gives the same name. What clashes afterwards is numbered.
 */
export type NameCodec = (wish: NameRequest, rule: NameRule) => string;

/** Answers each wish, in the order given; the order has no influence on the names. */
export type NameAllocator = (wishes: readonly NameRequest[]) => readonly UpstreamName[];

/** The names given out so far, by scope. */
export type TakenNames = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * Allocates names in one upstream. Lawful names are given out first, so that
 * no bent name can take one; names given out before stay taken.
 */
export function createProviderNameAllocator(
  rule: NameRule,
  codec: NameCodec = nameCodecs[rule.codec ?? "bend"],
  before?: TakenNames,
): NameAllocator & { taken(): TakenNames } {
  const law = patternOf(rule);
  const taken = new Map<string, Set<string>>();
  const takenIn = (scope: string): Set<string> => {
    let names = taken.get(scope);
    if (names === undefined) taken.set(scope, (names = new Set(before?.get(scope))));
    return names;
  };
  /** The last number of a name in a scope: those before it are taken. */
  const numbers = new Map<string, number>();
  const give = (base: string, scope: string): UpstreamName => {
    const names = takenIn(scope);
    const room = hasReservedPrefix(base, rule) ? outsideReserved(base, rule) : base;
    // Where all names are kept, the upstream has to say so itself.
    const isRefused = (name: string): boolean =>
      isReserved(name, rule) && !hasReservedPrefix(room, rule);
    const key = `${scope.length} ${scope}${room}`;
    let count = numbers.get(key) ?? 1;
    let name = count === 1 ? room : numbered(room, count, rule);
    while (names.has(name) || isRefused(name)) name = numbered(room, ++count, rule);
    numbers.set(key, count);
    names.add(name);
    return upstreamName(name);
  };
  const allocate: NameAllocator = (wishes) => {
    const lawful = wishes.map((wish) => fitsNameRule(flatName(wish, law), rule));
    const given = wishes.map((wish) => upstreamName(wish.name));
    for (const at of ranking(wishes, lawful)) {
      const wish = wishes[at];
      if (wish === undefined) continue;
      const base = lawful[at] === true ? flatName(wish, law) : codec(wish, rule);
      given[at] = give(base, wish.scope ?? "");
    }
    return given;
  };
  return Object.assign(allocate, { taken: () => taken });
}

function numbered(name: string, count: number, rule: NameRule): string {
  const { filler, digits } = patternOf(rule);
  const mark = filler + inDigits(count, digits.slice(0, 10));
  return name.slice(0, Math.max(0, rule.max - mark.length)) + mark;
}

/** A namespace and a name as one: `git` and `status` are `git__status`. */
const flatName = ({ name, prefix }: NameRequest, { filler }: NamePattern): string =>
  prefix === undefined ? name : `${prefix}${filler}${filler}${name}`;

/** The order in which wishes are answered: by their content, never by their place. */
function ranking(wishes: readonly NameRequest[], lawful: readonly boolean[]): number[] {
  const order = wishes.map((_, at) => at);
  return order.toSorted((a, b) => {
    const [one, other] = [wishes[a], wishes[b]];
    if (one === undefined || other === undefined) return 0;
    return (
      Number(lawful[b]) - Number(lawful[a]) ||
      one.rank - other.rank ||
      compare(one.prefix ?? "", other.prefix ?? "") ||
      compare(one.name, other.name)
    );
  });
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export const fitsNameRule = (name: string, rule: NameRule): boolean =>
  name.length <= rule.max && patternOf(rule).whole.test(name);

const isReserved = (name: string, rule: NameRule): boolean =>
  rule.reserved !== undefined && (rule.reserved.includes(name) || hasReservedPrefix(name, rule));

/** Whether the upstream keeps all names that begin like this one: then no number helps. */
const hasReservedPrefix = (name: string, { reserved }: NameRule): boolean =>
  reserved?.some((one) => one.endsWith("*") && name.startsWith(one.slice(0, -1))) === true;

/** A name under a beginning that the upstream does not keep. */
function outsideReserved(name: string, rule: NameRule): string {
  const law = patternOf(rule);
  for (const word of ["tool", "fn", ...law.digits.split("")]) {
    const moved = `${replaceInvalid(word, law)}${law.filler}${name}`;
    if (!hasReservedPrefix(moved, rule))
      return moved.length <= rule.max ? moved : fit(moved, name, rule);
  }
  return name;
}

/**
 * The default codec. Characters the upstream does not take become `_`. A name
 * that is too long keeps its end if a namespace stands before it, since the end
 * says what the tool does, and gets a hash of the whole, as does one that no
 * letter is left of.
 */
export const replacingCodec: NameCodec = (wish, rule) => {
  const law = patternOf(rule);
  const asked = flatName(wish, law);
  const bent = replaceInvalid(asked, law);
  if (!/[A-Za-z0-9]/.test(bent)) return fit(replaceInvalid("tool", law), asked, rule);
  if (bent.length <= rule.max) return bent;
  const name = replaceInvalid(wish.name, law);
  const space = rule.max - markOf(asked, law).length - name.length - 2;
  if (wish.prefix === undefined || space < 4) return fit(bent, asked, rule);
  return fit(bent.slice(0, space) + law.filler + law.filler + name, asked, rule);
};

/** A codec for upstreams where even a bent name that is free must tell its origin. */
const hashingCodec: NameCodec = (wish, rule) => {
  const asked = flatName(wish, patternOf(rule));
  return fit(replaceInvalid(asked, patternOf(rule)), asked, rule);
};

const nameCodecs = { bend: replacingCodec, hash: hashingCodec } as const satisfies Record<
  string,
  NameCodec
>;

function fit(base: string, asked: string, rule: NameRule): string {
  const mark = markOf(asked, patternOf(rule));
  return (base.slice(0, Math.max(0, rule.max - mark.length)) + mark).slice(-rule.max);
}

/** What tells a name that had to be cut from others that begin alike. */
const markOf = (asked: string, { filler, digits }: NamePattern): string =>
  filler + hash(asked, digits);

function replaceInvalid(text: string, law: NamePattern): string {
  let bent = "";
  for (const char of text) bent += law.char.test(char) ? char : law.filler;
  return bent !== "" && !law.first.test(bent) ? law.start + bent : bent;
}

type NamePattern = {
  readonly whole: RegExp;
  readonly char: RegExp;
  readonly first: RegExp;
  /** What stands for a character that may not. */
  readonly filler: string;
  /** What is put before a name whose first character may not be first. */
  readonly start: string;
  /** What numbers are written in. */
  readonly digits: string;
};

const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const DIGITS = `0123456789${LETTERS}`;

const patternOf = memoizeByIdentity(({ chars, first = chars }: NameRule): NamePattern => {
  const char = new RegExp(`^[${chars}]$`, "u");
  const lawful = (signs: string): string =>
    signs
      .split("")
      .filter((sign) => char.test(sign))
      .join("");
  const [small, large] = [lawful(DIGITS), lawful(LETTERS.toUpperCase())];
  return {
    whole: new RegExp(`^[${first}][${chars}]*$`, "u"),
    char,
    first: new RegExp(`^[${first}]`, "u"),
    filler: firstOf("_-.x", chars),
    start: firstOf("_tTx", first),
    digits: [small, large, DIGITS].find((signs) => signs.length > 1) ?? DIGITS,
  };
});

/** What numbers are written in where a rule holds. */
export const digitsIn = (rule: NameRule): string => patternOf(rule).digits;

const firstOf = (candidates: string, chars: string): string =>
  new RegExp(`[${chars}]`, "u").exec(candidates + DIGITS + LETTERS.toUpperCase())?.[0] ?? "0";

/** A few characters that stand for a text, always as many: FNV-1a, by default in base 36. Not for secrets. */
export function hash(text: string, digits = DIGITS): string {
  let state = 0x811c9dc5;
  for (let at = 0; at < text.length; at++)
    state = Math.imul(state ^ text.charCodeAt(at), 0x01000193);
  const length = Math.ceil(32 / Math.log2(digits.length));
  return inDigits(state >>> 0, digits).padStart(length, digits.charAt(0));
}

function inDigits(count: number, digits: string): string {
  let written = "";
  for (let left = count; left > 0 || written === ""; left = Math.floor(left / digits.length))
    written = digits.charAt(left % digits.length) + written;
  return written;
}
