/** One thing of a pattern and how often it may come: a sign or a class, or a group of alternatives. */
type Piece = {
  /** Nothing for what takes no room. */
  readonly sign?: Sign | undefined;
  readonly group?: readonly (readonly Piece[])[] | undefined;
  readonly isStart?: boolean | undefined;
  readonly least: number;
  readonly most: number;
};

/** A set of signs, and the first of each run of them: sets that have no such sign in common have none. */
type Sign = { has(sign: string): boolean; readonly starts: readonly string[] };

/** What it takes to hold a text against something, and in how many ways what follows is come to. */
type Cost = { readonly steps: number; readonly ways: number };
type Costing = (length: number) => Cost;

/** Up to so often a group is repeated as a longer pattern would be. */
const FEW = 16;
/** Longer ones nobody writes by hand. */
const LONGEST = 1000;
/** Two of them side by side are one sign. */
const HALVES = /\\u\{?0*d[89a-f]/i;

/**
 * How many steps a regular expression takes at most with a text of some length,
 * whatever the text says. The engine tries every way to part a text, and a
 * client's pattern may leave it more ways than anybody can wait for. What cannot
 * be told is without end: who is careful is wrong now and then.
 */
export function patternSteps(pattern: string): (length: number) => number {
  const reader = { pattern, at: 0 };
  const isKnown = pattern.length <= LONGEST && !HALVES.test(pattern);
  const alternatives = isKnown ? readAlternatives(reader) : undefined;
  if (alternatives === undefined || reader.at < pattern.length) return () => Infinity;
  const isAnchored = alternatives.every(([first]) => first?.isStart === true);
  const cost = costOfAny(alternatives, []);
  return (length) => cost(length).steps * (isAnchored ? 1 : length + 1);
}

/** `after` is what follows the group. */
function costOfAny(alternatives: readonly (readonly Piece[])[], after: readonly Piece[]): Costing {
  const costs = alternatives.map((pieces) => costOfAll(pieces, after));
  return (length) => {
    let [steps, ways] = [0, 0];
    for (const cost of costs) {
      const one = cost(length);
      steps += one.steps;
      ways += one.ways;
    }
    return { steps, ways };
  };
}

function costOfAll(pieces: readonly Piece[], after: readonly Piece[]): Costing {
  const costs = pieces.map((piece, at) => costOf(piece, [...pieces.slice(at + 1), ...after]));
  return (length) =>
    costs.reduceRight<Cost>(
      (rest, cost) => {
        const { steps, ways } = cost(length);
        return { steps: steps + ways * rest.steps, ways: ways * rest.ways };
      },
      { steps: 1, ways: 1 },
    );
}

function costOf(piece: Piece, rest: readonly Piece[]): Costing {
  const { group, least } = piece;
  const most = Math.max(piece.most, 1);
  const next = least === most ? [] : signsAt(rest);
  // What follows cannot begin where another repetition could: there is one place to go on from.
  const isLoose = !areApart(next, signsAt([piece]));
  // Wherever else one tries to go on, each sign that may follow is looked at in vain.
  const vain = 1 + next.length;
  if (group === undefined)
    return (length) => {
      const times = Math.min(most, length);
      return { steps: (times + 1) * vain, ways: isLoose ? Math.max(times - least, 0) + 1 : 1 };
    };
  const body = costOfAny(group, most > 1 ? [{ ...piece, least: 0 }, ...rest] : rest);
  if (most <= FEW)
    return (length) => {
      const { steps, ways } = body(length);
      const all = ways ** most;
      return {
        steps: most * ways ** (most - 1) * steps + (most + 1) * all * vain,
        ways: (isLoose ? most - least + 1 : 1) * all,
      };
    };
  if (!isParted(group)) return () => ({ steps: Infinity, ways: Infinity });
  // Repetitions share the text among them, and each place is come to in one way.
  return (length) => {
    const { steps, ways } = body(length);
    return {
      steps: (length + 1) * (body(0).steps + vain) + steps,
      ways: isLoose || ways > 1 ? length + 1 : 1,
    };
  };
}

/** What a text may begin with that is these pieces. */
function signsAt(pieces: readonly Piece[]): readonly Sign[] {
  const signs: Sign[] = [];
  for (const piece of pieces) {
    if (piece.sign !== undefined) signs.push(piece.sign);
    for (const alternative of piece.group ?? []) signs.push(...signsAt(alternative));
    if (!mayBeEmpty(piece)) break;
  }
  return signs;
}

const mayBeEmpty = ({ sign, group, least }: Piece): boolean =>
  least === 0 || (sign === undefined && (group?.some((one) => one.every(mayBeEmpty)) ?? true));

const isVaried = ({ least, most, group }: Piece): boolean =>
  least !== most || (group !== undefined && (group.length > 1 || group.flat().some(isVaried)));

const signsIn = ({ sign, group }: Piece): readonly Sign[] =>
  sign === undefined ? (group?.flat().flatMap(signsIn) ?? []) : [sign];

/**
 * Whether a text of such repetitions can be parted in one way only: each one's
 * first sign tells which it is, and it is as long as any, or ends at the next first sign.
 */
function isParted(group: NonNullable<Piece["group"]>): boolean {
  const firsts: Sign[] = [];
  const others: Sign[] = [];
  for (const [first, ...rest] of group) {
    if (first?.sign === undefined || first.least !== first.most || first.least === 0) return false;
    if (rest.some((piece) => piece.group !== undefined && isVaried(piece))) return false;
    if (!isOneWay(rest)) return false;
    firsts.push(first.sign);
    others.push(...rest.flatMap(signsIn));
  }
  return (
    firsts.every((one, at) => areApart([one], firsts.slice(at + 1))) &&
    (!group.flat().some(isVaried) || areApart(others, firsts))
  );
}

/** Whether a text is these pieces in one way only: what varies ends where the next begins. */
function isOneWay(pieces: readonly Piece[]): boolean {
  if (pieces.filter(isVaried).length < 2) return true;
  return pieces.every(
    (piece, at) =>
      !isVaried(piece) || areApart(signsIn(piece), pieces.slice(at + 1).flatMap(signsIn)),
  );
}

const areApart = (some: readonly Sign[], others: readonly Sign[]): boolean =>
  some.every((one) => others.every((other) => isApart(one, other)));

const isApart = (one: Sign, other: Sign): boolean =>
  !one.starts.some((sign) => other.has(sign)) && !other.starts.some((sign) => one.has(sign));

/** Where runs of the classes that have a name begin, and of what is in none. */
const BASE = Array.from(
  "\0\x01\b\t\n\v\f\r\x0e !0:A[_`a{\xa0\xa1\u1680\u1681\u2000\u200b\u2028\u202a\u202f\u2030" +
    "\u205f\u2060\u3000\u3001\ufeff\uff00",
);
const LAST = 0x10ffff;
const WRITTEN = /\\(?:c([a-z])|x([\da-f]{2})|u([\da-f]{4})|u\{([\da-f]+)\})/gi;

/** Nothing for what is no sign: whoever wrote it meant something else. */
function signOf(source: string): Sign | undefined {
  if (!/^[\\[.]/.test(source)) return { has: (sign) => sign === source, starts: [source] };
  // Properties are sets of anybody's choosing: they may have all in common with anything.
  if (/\\p/i.test(source)) return { has: () => true, starts: BASE };
  let shape: RegExp;
  try {
    shape = new RegExp(`^${source}$`, "u");
  } catch {
    return undefined;
  }
  const has = (sign: string): boolean => shape.test(sign);
  const written = Array.from(source.matchAll(WRITTEN), ([, control, ...hex]) =>
    control === undefined ? Number.parseInt(hex.join(""), 16) : control.charCodeAt(0) % 32,
  );
  const named = Array.from(source, (sign) => sign.codePointAt(0) ?? 0);
  // A run begins with a sign that is written, or behind one that is left out.
  const codes = [...named, ...written].flatMap((code) => [code, code + 1]);
  const signs = codes.filter((code) => code <= LAST).map((code) => String.fromCodePoint(code));
  return { has, starts: [...BASE, ...signs].filter(has) };
}

type Reader = { readonly pattern: string; at: number };

/** Undefined for what is no pattern, or refers back to itself. */
function readAlternatives(reader: Reader): Piece[][] | undefined {
  const alternatives: Piece[][] = [[]];
  while (reader.at < reader.pattern.length && reader.pattern[reader.at] !== ")") {
    if (reader.pattern[reader.at] === "|") {
      reader.at++;
      alternatives.push([]);
      continue;
    }
    const piece = readPiece(reader);
    if (piece === undefined) return undefined;
    alternatives.at(-1)?.push(piece);
  }
  return alternatives;
}

function readPiece(reader: Reader): Piece | undefined {
  const atom = reader.pattern[reader.at] === "(" ? readGroup(reader) : readAtom(reader);
  return atom && { ...readOften(reader), ...atom };
}

type Atom = Partial<Pick<Piece, "sign" | "group" | "isStart" | "least">>;

function readGroup(reader: Reader): Atom | undefined {
  reader.at++;
  const [mark = ""] = /^\?(?:[:=!]|<\w+>)/.exec(reader.pattern.slice(reader.at)) ?? [];
  reader.at += mark.length;
  const group = readAlternatives(reader);
  if (reader.pattern[reader.at++] !== ")") return undefined;
  // A look ahead takes no room: what follows it begins where it does.
  const isLook = mark === "?=" || mark === "?!";
  return group && (isLook ? { group, least: 0 } : { group });
}

const ATOM =
  /^(?:(?<place>[\^$]|\\[bB])|(?<back>\\(?:[1-9]|k))|\[(?:\\.|[^\]\\])*\]|\\(?:u\{[^}]*\}|[pP]\{[^}]*\}|u.{4}|x..|c.|.)|[^*+?{}()[\]|\\])/su;

function readAtom(reader: Reader): Atom | undefined {
  const found = ATOM.exec(reader.pattern.slice(reader.at));
  if (found === null || found.groups?.["back"] !== undefined) return undefined;
  const [source] = found;
  reader.at += source.length;
  if (found.groups?.["place"] !== undefined) return { isStart: source === "^" };
  const sign = signOf(source);
  return sign && { sign };
}

function readOften(reader: Reader): Pick<Piece, "least" | "most"> {
  const [whole = "", sign, low, comma, high] =
    /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/.exec(reader.pattern.slice(reader.at)) ?? [];
  reader.at += whole.length;
  if (whole === "") return { least: 1, most: 1 };
  if (sign !== undefined) return { least: sign === "+" ? 1 : 0, most: sign === "?" ? 1 : Infinity };
  const least = Number(low);
  return { least, most: comma === "" ? least : high === "" ? Infinity : Number(high) };
}
