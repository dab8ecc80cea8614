/** Bounds the work of a regular expression by its form. */

/** An atom (a character, a class, an assertion) or a group, with its repetitions. */
type Piece = {
  /** The text of an atom, or the opening of a group. */
  readonly source: string;
  readonly group?: readonly (readonly Piece[])[];
  readonly least: number;
  readonly most: number;
};

/** Steps of the engine, and the number of ways in which it can arrive at the next piece. */
type Work = { readonly steps: number; readonly ways: number };

/** The most characters of a pattern that is analysed. */
const MAX_PATTERN = 1_000;
/** The most repetitions of a group that are counted one by one. */
const FEW = 16;
/** The most characters that may begin the next pieces; with more, the bound is not refined. */
const MAX_OPENERS = 8;

const TOKEN =
  /\((?:\?(?:[:=!]|<[=!]|<[^>]*>))?|\[(?:\\.|[^\]\\])*\]|\\(?:[pPu]\{[^}]*\}|u.{4}|x..|c.|.)|[^]/suy;
const REPEAT = /(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/y;

/**
 * An upper bound of the steps that a regular expression takes for any text of a length. The engine
 * backtracks, so patterns of clients can take polynomial or exponential time. Infinity if there is
 * no bound: for back references, look-behind, and repeated groups whose repetitions do not begin
 * with a distinct character.
 */
export function patternWork(pattern: string): (length: number) => number {
  if (pattern.length > MAX_PATTERN || /\\[1-9k]|\(\?<[=!]/.test(pattern)) return () => Infinity;
  try {
    RegExp(pattern, "u");
  } catch {
    return () => Infinity; // The validator cannot compile it either.
  }
  const alternatives = parse(pattern, { at: 0 });
  const isAnchored = alternatives.every(([first]) => first?.source === "^");
  let [last, steps] = [-1, 0];
  return (length) => {
    // One check asks for the same length each time.
    if (length !== last)
      steps = workOfAny(alternatives, length).steps * (isAnchored ? 1 : length + 1);
    last = length;
    return steps;
  };
}

/** Reads the alternatives of a valid pattern, up to the end of their group. */
function parse(pattern: string, reader: { at: number }): Piece[][] {
  let pieces: Piece[] = [];
  const alternatives = [pieces];
  while (reader.at < pattern.length) {
    const [source] = read(TOKEN, pattern, reader);
    if (source === ")") break;
    if (source === "|") alternatives.push((pieces = []));
    else {
      const inner = source?.startsWith("(") === true ? { group: parse(pattern, reader) } : {};
      const [whole, sign, low, comma, high] = read(REPEAT, pattern, reader);
      const least = sign === undefined ? Number(low ?? 1) : sign === "+" ? 1 : 0;
      const isOpen = sign === undefined ? comma === "," && high === "" : sign !== "?";
      const most = isOpen ? Infinity : Number(high || low || 1);
      pieces.push({ source: source ?? "", ...inner, least, most: whole === undefined ? 1 : most });
    }
  }
  return alternatives;
}

function read(shape: RegExp, pattern: string, reader: { at: number }): (string | undefined)[] {
  shape.lastIndex = reader.at;
  const found = shape.exec(pattern) ?? [];
  reader.at += found[0]?.length ?? 0;
  return [...found];
}

function workOfAny(alternatives: readonly (readonly Piece[])[], length: number): Work {
  const works = alternatives.map((pieces) => workOfAll(pieces, length));
  return works.reduce((a, b) => ({ steps: a.steps + b.steps, ways: a.ways + b.ways }));
}

const workOfAll = (pieces: readonly Piece[], length: number): Work =>
  pieces.reduceRight<Work>(
    (after, piece, at) => {
      const { steps, ways } = workOf(piece, pieces.slice(at + 1), length);
      return { steps: steps + ways * after.steps, ways: ways * after.ways };
    },
    { steps: 1, ways: 1 },
  );

function workOf(
  { source, group, least, most }: Piece,
  next: readonly Piece[],
  length: number,
): Work {
  if (group === undefined) {
    const times = Math.min(most, length);
    const openers = least === most ? undefined : openersOf(next);
    // If the next pieces begin with characters that this one does not match, it can end in one place only.
    if (openers?.every((one) => !matches(source, one)) === true)
      return { steps: (times + 1) * (1 + openers.length), ways: 1 };
    return { steps: times + 1, ways: Math.max(times - least, 0) + 1 };
  }
  const once = workOfAny(group, length);
  // The engine does not backtrack into a look-ahead.
  if (/^\(\?[=!]/.test(source)) return { steps: once.steps, ways: 1 };
  if (most > FEW) {
    const steps = isDelimited(group) ? 2 * (length + 1) * (group.flat().length + 1) : Infinity;
    return { steps, ways: length + 1 };
  }
  let [steps, ways, last] = [1, least === 0 ? 1 : 0, 1];
  for (let times = 1; times <= most; times++) {
    steps += last * (once.steps + 1);
    last *= once.ways;
    if (times >= least) ways += last;
  }
  return { steps, ways };
}

/** The characters that can begin the pieces; undefined if they cannot be listed. */
function openersOf(pieces: readonly Piece[]): readonly string[] | undefined {
  const openers: string[] = [];
  for (const { source, group, least } of pieces) {
    if (source === "$") return openers;
    const own =
      group === undefined ? [literalOf(source)] : group.map(([first]) => literalOf(first?.source));
    for (const one of own) {
      if (one === undefined || openers.length === MAX_OPENERS) return undefined;
      openers.push(one);
    }
    if (least > 0) return openers;
  }
  return undefined;
}

const literalOf = (source = ""): string | undefined =>
  /^(?:[^\\[(.^$]|\\[^\p{L}\p{N}])$/u.test(source) ? Array.from(source).at(-1) : undefined;

const matches = (source: string, character: string): boolean =>
  source.length === 1 && source !== "."
    ? source === character
    : new RegExp(`^(?:${source})$`, "su").test(character);

/**
 * True if a text can be divided into repetitions of the group in one way only: each alternative
 * begins with a distinct character, which no piece of variable length matches.
 */
function isDelimited(group: NonNullable<Piece["group"]>): boolean {
  const firsts: string[] = [];
  const others = group.flatMap((pieces) => pieces.slice(1));
  for (const [first, ...rest] of group) {
    const literal = first?.least === 1 && first.most === 1 ? literalOf(first.source) : undefined;
    const variable = rest.filter(({ least, most }) => least !== most);
    if (literal === undefined || firsts.includes(literal) || variable.length > 1) return false;
    firsts.push(literal);
  }
  if (others.some((piece) => piece.group !== undefined)) return false;
  const isFixed = others.every(({ least, most }) => least === most);
  return isFixed || !others.some(({ source }) => firsts.some((one) => matches(source, one)));
}
