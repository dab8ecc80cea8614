/** One thing of a pattern and how often it may come: a sign or a class, or a group of alternatives. */
type Piece = {
  /** A regular expression of its own, for what is no group. Nothing for what takes no room. */
  readonly source?: string | undefined;
  readonly group?: readonly (readonly Piece[])[] | undefined;
  readonly least: number;
  readonly most: number;
};

/** Up to so often a repetition is no more than a longer pattern. */
const FEW = 16;
/** Longer ones nobody writes by hand. */
const LONGEST = 1000;
/** In so many ways a text may be parted, beside those of endless repetitions. */
const MOST_WAYS = 100_000;
/** Each may go through the text once more. */
const MOST_ENDLESS = 4;

/**
 * Whether a regular expression is done soon, whatever it is held against. The
 * engine tries every way to part a text, and a client's pattern may leave it
 * more ways than anybody can wait for. Who is careful is wrong now and then:
 * some sound patterns are not taken for tame.
 */
export function isTame(pattern: string): boolean {
  if (pattern.length > LONGEST) return false;
  const reader = { pattern, at: 0, endless: 0 };
  const alternatives = readAlternatives(reader);
  return (
    alternatives !== undefined &&
    reader.at === pattern.length &&
    reader.endless <= MOST_ENDLESS &&
    waysOf(alternatives) <= MOST_WAYS &&
    alternatives.every((pieces) => pieces.every(isPieceTame))
  );
}

function isPieceTame({ group, most }: Piece): boolean {
  if (group === undefined) return true;
  if (most > FEW && !isParted(group)) return false;
  // What is repeated a few times has so many ways more, and may hold nothing endless.
  if (most > 1 && most <= FEW && !isParted(group) && group.flat().some(isEndless)) return false;
  return group.every((pieces) => pieces.every(isPieceTame));
}

/** How many ways there are to hold bounded repetitions and alternatives against a text. */
const waysOf = (alternatives: readonly (readonly Piece[])[]): number =>
  alternatives.reduce(
    (sum, pieces) => sum + pieces.reduce((ways, one) => ways * waysIn(one), 1),
    0,
  );

function waysIn({ least, most, group }: Piece): number {
  // What is repeated without end is parted in one way, or not tame at all.
  if (most > FEW) return 1;
  return (most - least + 1) * (group === undefined ? 1 : waysOf(group) ** most);
}

const isVaried = ({ least, most, group }: Piece): boolean =>
  least !== most || (group !== undefined && (group.length > 1 || group.flat().some(isVaried)));

const isEndless = ({ most, group }: Piece): boolean =>
  most > FEW || (group?.flat().some(isEndless) ?? false);

/** Whether a text of such repetitions can be parted in one way only, told by each one's first sign. */
function isParted(group: NonNullable<Piece["group"]>): boolean {
  const firsts: string[] = [];
  for (const [first, ...rest] of group) {
    if (first?.source === undefined || first.least !== first.most || first.least === 0)
      return false;
    if (rest.some((piece) => piece.group !== undefined && isVaried(piece))) return false;
    if (!isOneWay(rest)) return false;
    firsts.push(first.source);
  }
  const varied = group.flat().flatMap((piece) => (isVaried(piece) ? (piece.source ?? []) : []));
  return (
    firsts.every((one, at) => firsts.slice(at + 1).every((other) => isApart(one, other))) &&
    varied.every((one) => firsts.every((first) => isApart(one, first)))
  );
}

/** Whether a text is these pieces in one way only: what varies ends where the next begins. */
function isOneWay(pieces: readonly Piece[]): boolean {
  if (pieces.filter(isVaried).length < 2) return true;
  return pieces.every(
    (piece, at) =>
      !isVaried(piece) ||
      pieces
        .slice(at + 1)
        .every(({ source, group }) =>
          group === undefined
            ? source === undefined || piece.source === undefined || isApart(piece.source, source)
            : false,
        ),
  );
}

const SIGNS = [
  ...Array.from({ length: 0x180 }, (_, code) => String.fromCharCode(code)),
  "\u0416",
  "\u65e5",
  "\u{1f389}",
];

/** Whether no sign is of both. */
function isApart(one: string, other: string): boolean {
  const [a, b] = [new RegExp(`^${one}$`, "u"), new RegExp(`^${other}$`, "u")];
  return !SIGNS.some((sign) => a.test(sign) && b.test(sign));
}

type Reader = { readonly pattern: string; at: number; endless: number };

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
  if (atom === undefined) return undefined;
  const often = readOften(reader);
  if (often.most > FEW) reader.endless++;
  return { ...atom, ...often };
}

function readGroup(reader: Reader): Pick<Piece, "group"> | undefined {
  reader.at++;
  reader.at += /^\?(?:[:=!]|<[=!]|<\w+>)/.exec(reader.pattern.slice(reader.at))?.[0].length ?? 0;
  const group = readAlternatives(reader);
  if (reader.pattern[reader.at++] !== ")") return undefined;
  return group && { group };
}

const ATOM =
  /^(?:(?<class>\[(?:\\.|[^\]\\])*\])|(?<place>[\^$]|\\[bB])|(?<back>\\(?:[1-9]|k))|(?<sign>\\(?:u\{[^}]*\}|[pP]\{[^}]*\}|u.{4}|x..|c.|.)|[^*+?{}()[\]|\\]))/su;

function readAtom(reader: Reader): Pick<Piece, "source"> | undefined {
  const found = ATOM.exec(reader.pattern.slice(reader.at));
  if (found === null || found.groups?.["back"] !== undefined) return undefined;
  reader.at += found[0].length;
  const source = found.groups?.["place"] === undefined ? found[0] : undefined;
  return source === undefined || isSource(source) ? { source } : undefined;
}

function isSource(source: string): boolean {
  try {
    return new RegExp(source, "u").source !== "";
  } catch {
    return false; // Whoever wrote it meant something else.
  }
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
