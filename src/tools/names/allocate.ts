import { memoizeByIdentity } from "../../turn/memoize.ts";
import { upstreamName, type UpstreamName } from "../../turn/names.ts";
import type { IdRule, NameRule } from "../../turn/profile.ts";

/** Gives every id of a conversation the form an upstream wants; the same id always the same form. */
export function idAllocator(rule: IdRule | undefined): (id: string) => string {
  const taken = new Set<string>();
  /** How many forms of an id have been tried: those are taken. */
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

/** A valid id in place of one that is not, or that is taken. */
function newId(id: string, rule: IdRule | undefined, count: number): string {
  const seed = count === 0 ? id : `${id}#${count}`;
  const digits = rule && digitsIn(rule);
  const word = hash(seed, digits) + hash(`${seed}.`, digits) + hash(`${seed}:`, digits);
  if (rule === undefined) return `call_${word.slice(0, 14)}`;
  if (rule.exact === true || rule.max < 14)
    return word.padEnd(rule.max, digits?.charAt(0)).slice(0, rule.max);
  const named = `call_${word}`.slice(0, Math.min(rule.max, 21));
  return fitsNameRule(named, rule) ? named : word.slice(0, rule.max);
}

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
 * Turns a requested name into a valid one, by the request alone: the same request
 * always gives the same name. What clashes afterwards is numbered.
 */
type NameCodec = (request: NameRequest, rule: NameRule) => string;

/** Names for all requests, in their order; the order has no influence on the names. */
type NameAllocator = (requests: readonly NameRequest[]) => readonly UpstreamName[];

/** The names given out so far, by scope. */
export type TakenNames = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * Allocates names in one upstream. Valid names are given out first, so that
 * no replacement can take one; names given out before stay taken.
 */
export function createProviderNameAllocator(
  rule: NameRule,
  codec: NameCodec = nameCodecs[rule.codec ?? "bend"],
  before?: TakenNames,
): NameAllocator & { taken(): TakenNames } {
  const pattern = patternOf(rule);
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
    // Where every prefix is reserved, the upstream refuses the name itself.
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
  const allocate: NameAllocator = (requests) => {
    const valid = requests.map((request) => fitsNameRule(flatName(request, pattern), rule));
    const given = requests.map((request) => upstreamName(request.name));
    for (const at of ranking(requests, valid)) {
      const request = requests[at];
      if (request === undefined) continue;
      const base = valid[at] === true ? flatName(request, pattern) : codec(request, rule);
      given[at] = give(base, request.scope ?? "");
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

/** The order in which names are given out: by content, never by place. */
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

/** Whether the upstream keeps all names that begin like this one: then no number helps. */
const hasReservedPrefix = (name: string, { reserved }: NameRule): boolean =>
  reserved?.some((one) => one.endsWith("*") && name.startsWith(one.slice(0, -1))) === true;

/** A name under a beginning that the upstream does not keep. */
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
 * The default codec. Characters the upstream does not take become `_`. A name
 * that is too long keeps its end if a namespace stands before it, since the end
 * says what the tool does, and gets a hash of the whole, as does one that no
 * letter is left of.
 */
export const replacingCodec: NameCodec = (request, rule) => {
  const pattern = patternOf(rule);
  const asked = flatName(request, pattern);
  const replaced = replaceInvalid(asked, pattern);
  if (!/[A-Za-z0-9]/.test(replaced)) return fit(replaceInvalid("tool", pattern), asked, rule);
  if (replaced.length <= rule.max) return replaced;
  const name = replaceInvalid(request.name, pattern);
  const space = rule.max - markOf(asked, pattern).length - name.length - 2;
  if (request.prefix === undefined || space < 4) return fit(replaced, asked, rule);
  return fit(replaced.slice(0, space) + pattern.filler + pattern.filler + name, asked, rule);
};

/** For upstreams where every replaced name must be unique to its original, taken or not. */
const hashingCodec: NameCodec = (request, rule) => {
  const asked = flatName(request, patternOf(rule));
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

function replaceInvalid(text: string, pattern: NamePattern): string {
  let replaced = "";
  for (const char of text) replaced += pattern.char.test(char) ? char : pattern.filler;
  return replaced !== "" && !pattern.first.test(replaced) ? pattern.start + replaced : replaced;
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

/** What numbers are written in where a rule holds. */
const digitsIn = (rule: NameRule): string => patternOf(rule).digits;

const firstOf = (candidates: string, chars: string): string =>
  new RegExp(`[${chars}]`, "u").exec(candidates + DIGITS + LETTERS.toUpperCase())?.[0] ?? "0";

/** A few characters that stand for a text, always as many: FNV-1a, by default in base 36. Not for secrets. */
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
