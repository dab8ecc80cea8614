import { memoizeByIdentity } from "../../turn/memoize.ts";
import { upstreamName, type UpstreamName } from "../../turn/names.ts";
import type { IdRule, NameRule } from "../../turn/profile.ts";

/** Gives every id of a conversation the upstream's form. The same conversation always gets the same ids. */
export function idAllocator(rule: IdRule | undefined): (id: string) => string {
  const taken = new Set<string>();
  /** The number of forms of an id that are known to be taken. */
  const tried = new Map<string, number>();
  return (id) => {
    const isFit = rule === undefined ? id !== "" : isValidId(id, rule);
    if (isFit && !taken.has(id)) {
      taken.add(id);
      return id;
    }
    let count = tried.get(id) ?? 0;
    let given = isFit && count === 0 ? id : newId(id, rule, count);
    while (taken.has(given)) given = newId(id, rule, ++count);
    tried.set(id, count);
    taken.add(given);
    return given;
  };
}

export const isValidId = (id: string, rule: IdRule): boolean =>
  fitsNameRule(id, rule) && (rule.exact !== true || id.length === rule.max);

/** A valid id in place of an invalid or taken one. */
function newId(id: string, rule: IdRule | undefined, count: number): string {
  const seed = count === 0 ? id : `${id}#${count}`;
  const digits = rule && patternOf(rule).digits;
  const word = hash(seed, digits) + hash(`${seed}.`, digits) + hash(`${seed}:`, digits);
  if (rule === undefined) return `call_${word.slice(0, 14)}`;
  if (rule.exact === true || rule.max < 14)
    return word.padEnd(rule.max, digits?.charAt(0)).slice(0, rule.max);
  const named = `call_${word}`.slice(0, Math.min(rule.max, 21));
  return fitsNameRule(named, rule) ? named : word.slice(0, rule.max);
}

export type NameRequest = {
  readonly name: string;
  /** The namespace to put before the name; undefined if the upstream keeps namespaces. */
  readonly prefix?: string | undefined;
  /** Names are unique within a scope: the whole upstream, or one kept namespace. */
  readonly scope?: string | undefined;
  /** If names clash, the request with the higher rank gets another one. */
  readonly rank: number;
};

/** The allocated names, by scope. */
export type TakenNames = Map<string, Set<string>>;

/**
 * Allocates names in one upstream, and adds them to those that are taken. Valid names are allocated
 * first, so that no rewritten name can take one; the order of the requests does not change the names.
 */
export function allocateNames(
  requests: readonly NameRequest[],
  rule: NameRule,
  taken: TakenNames = new Map(),
): readonly UpstreamName[] {
  const pattern = patternOf(rule);
  /** The last number of a name in a scope: lower ones are taken. */
  const numbers = new Map<string, number>();
  const give = (base: string, scope: string): UpstreamName => {
    const names = taken.get(scope) ?? new Set();
    taken.set(scope, names);
    const room = hasReservedPrefix(base, rule) ? outsideReserved(base, rule) : base;
    // If every prefix is reserved, no name is valid, and the upstream refuses the request.
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
  const valid = requests.map((request) => fitsNameRule(flatName(request, pattern), rule));
  const given = requests.map((request) => upstreamName(request.name));
  for (const at of ranking(requests, valid)) {
    const request = requests[at];
    if (request === undefined) continue;
    const base = valid[at] === true ? flatName(request, pattern) : rewritten(request, rule);
    given[at] = give(base, request.scope ?? "");
  }
  return given;
}

function numbered(name: string, count: number, rule: NameRule): string {
  const { filler, digits } = patternOf(rule);
  const mark = filler + inDigits(count, digits.slice(0, 10));
  return name.slice(0, Math.max(0, rule.max - mark.length)) + mark;
}

/** A namespace and a name as one: `git` and `status` are `git__status`. */
const flatName = ({ name, prefix }: NameRequest, { filler }: NamePattern): string =>
  prefix === undefined ? name : `${prefix}${filler}${filler}${name}`;

/** The order of allocation: by content, never by position. */
function ranking(requests: readonly NameRequest[], valid: readonly boolean[]): number[] {
  const order = requests.map((_, at) => at);
  return order.toSorted((a, b) => {
    const [one, other] = [requests[a], requests[b]];
    if (one === undefined || other === undefined) return 0;
    return (
      Number(valid[b]) - Number(valid[a]) ||
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

/** True if the upstream reserves the name's prefix, so that no number makes the name valid. */
const hasReservedPrefix = (name: string, { reserved }: NameRule): boolean =>
  reserved?.some((one) => one.endsWith("*") && name.startsWith(one.slice(0, -1))) === true;

/** A name with a prefix that the upstream does not reserve. */
function outsideReserved(name: string, rule: NameRule): string {
  const pattern = patternOf(rule);
  for (const word of ["tool", "fn", ...pattern.digits.split("")]) {
    const moved = `${replaceInvalid(word, pattern)}${pattern.filler}${name}`;
    if (!hasReservedPrefix(moved, rule))
      return moved.length <= rule.max ? moved : fit(moved, name, rule);
  }
  return name;
}

/**
 * A valid name, made from the request alone, so that the same request always gets the same name.
 * Characters that the upstream does not take become `_`. A name that is too long, or has no letter
 * left, gets a hash of the whole; after a namespace, the end of a long name is kept, because it
 * tells what the tool does. By the codec `hash`, every rewritten name gets a hash.
 */
function rewritten(request: NameRequest, rule: NameRule): string {
  const pattern = patternOf(rule);
  const asked = flatName(request, pattern);
  const replaced = replaceInvalid(asked, pattern);
  if (rule.codec === "hash") return fit(replaced, asked, rule);
  if (!/[A-Za-z0-9]/.test(replaced)) return fit(replaceInvalid("tool", pattern), asked, rule);
  if (replaced.length <= rule.max) return replaced;
  const name = replaceInvalid(request.name, pattern);
  const space = rule.max - markOf(asked, pattern).length - name.length - 2;
  if (request.prefix === undefined || space < 4) return fit(replaced, asked, rule);
  return fit(replaced.slice(0, space) + pattern.filler + pattern.filler + name, asked, rule);
}

function fit(base: string, asked: string, rule: NameRule): string {
  const mark = markOf(asked, patternOf(rule));
  return (base.slice(0, Math.max(0, rule.max - mark.length)) + mark).slice(-rule.max);
}

/** The hash that distinguishes a cut name from others with the same beginning. */
const markOf = (asked: string, { filler, digits }: NamePattern): string =>
  filler + hash(asked, digits);

function replaceInvalid(text: string, pattern: NamePattern): string {
  let replaced = "";
  for (const char of text) replaced += pattern.char.test(char) ? char : pattern.filler;
  return replaced !== "" && !pattern.first.test(replaced) ? pattern.start + replaced : replaced;
}

type NamePattern = {
  readonly whole: RegExp;
  readonly char: RegExp;
  readonly first: RegExp;
  /** Replaces an invalid character. */
  readonly filler: string;
  /** Precedes a name whose first character may not be the first. */
  readonly start: string;
  /** The digits of numbers and hashes. */
  readonly digits: string;
};

const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const DIGITS = `0123456789${LETTERS}`;

const patternOf = memoizeByIdentity(({ chars, first = chars }: NameRule): NamePattern => {
  const char = new RegExp(`^[${chars}]$`, "u");
  const valid = (signs: string): string =>
    signs
      .split("")
      .filter((sign) => char.test(sign))
      .join("");
  const [small, large] = [valid(DIGITS), valid(LETTERS.toUpperCase())];
  return {
    whole: new RegExp(`^[${first}][${chars}]*$`, "u"),
    char,
    first: new RegExp(`^[${first}]`, "u"),
    filler: firstOf("_-.x", chars),
    start: firstOf("_tTx", first),
    digits: [small, large, DIGITS].find((signs) => signs.length > 1) ?? DIGITS,
  };
});

const firstOf = (candidates: string, chars: string): string =>
  new RegExp(`[${chars}]`, "u").exec(candidates + DIGITS + LETTERS.toUpperCase())?.[0] ?? "0";

/** A short hash of fixed length: FNV-1a, by default in base 36. Not for secrets. */
function hash(text: string, digits = DIGITS): string {
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
