/**
 * Texts that a regular expression might match: the shortest first, then ones
 * that repeat more. Simple patterns are met; what is not understood is passed
 * over, so whoever asks must still test the text.
 */
export function* matching(pattern: string): Generator<string, void, undefined> {
  for (const extra of [0, 1, 2, 4, 8, 16, 32, 64]) {
    const reader = { pattern, at: 0, extra, drawn: 0 };
    yield alternatives(reader);
    // The other letters of a class, for patterns whose first letters are not enough.
    yield alternatives({ ...reader, at: 0, drawn: 1 });
  }
}

type Reader = {
  readonly pattern: string;
  at: number;
  /** How much more often than it must a repeated thing is said. */
  readonly extra: number;
  /** Which letter of a class is taken next. */
  drawn: number;
};

/** Takes the first alternative, and reads over the others. */
function alternatives(reader: Reader): string {
  const first = sequence(reader);
  while (reader.pattern[reader.at] === "|") {
    reader.at++;
    sequence(reader);
  }
  return first;
}

function sequence(reader: Reader): string {
  let text = "";
  for (;;) {
    const char = reader.pattern[reader.at];
    if (char === undefined || char === "|" || char === ")") return text;
    text += repeated(reader);
  }
}

/** One thing and how often. It is read anew each time, so that classes draw another letter. */
function repeated(reader: Reader): string {
  const start = reader.at;
  let text = atom(reader);
  const { least, most } = quantifier(reader);
  const after = reader.at;
  const times = Math.min(most, most > least ? least + reader.extra : least);
  if (times === 0) return "";
  for (let said = 1; said < times && text.length < 4_096; said++) {
    reader.at = start;
    text += atom(reader);
  }
  reader.at = after;
  return text;
}

function quantifier(reader: Reader): { least: number; most: number } {
  const rest = reader.pattern.slice(reader.at);
  const [whole, sign, low, comma, high] = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/.exec(rest) ?? [""];
  reader.at += whole.length;
  if (whole === "") return { least: 1, most: 1 };
  if (sign === "*") return { least: 0, most: Infinity };
  if (sign === "+") return { least: 1, most: Infinity };
  if (sign === "?") return { least: 0, most: 1 };
  const least = Number(low);
  if (comma === "") return { least, most: least };
  return { least, most: high === "" ? Infinity : Number(high) };
}

function atom(reader: Reader): string {
  const char = reader.pattern[reader.at++] ?? "";
  switch (char) {
    case "^":
    case "$":
      return "";
    case ".":
      return draw(reader, letters);
    case "(":
      return group(reader);
    case "[":
      return draw(reader, classOf(reader));
    case "\\":
      return draw(reader, escaped(reader));
    default:
      return char;
  }
}

function group(reader: Reader): string {
  const [opening = ""] =
    /^\?(?::|<[A-Za-z]\w*>|<?[=!])/.exec(reader.pattern.slice(reader.at)) ?? [];
  reader.at += opening.length;
  const inside = alternatives(reader);
  reader.at++;
  // A look ahead or behind says nothing itself.
  return /[=!]$/.test(opening) ? "" : inside;
}

const letters = Array.from("abcdefghijklmnopqrstuvwxyz");
const digits = Array.from("1234567890");
const anything = [...letters, ...digits, ...Array.from("ABCDEFGHIJKLMNOPQRSTUVWXYZ_- .,:/@#+")];

function draw(reader: Reader, from: readonly string[]): string {
  return from[reader.drawn++ % from.length] ?? "";
}

/** The characters an escape stands for. */
function escaped(reader: Reader): readonly string[] {
  const char = reader.pattern[reader.at++] ?? "";
  switch (char) {
    case "d":
      return digits;
    case "w":
      return letters;
    case "s":
      return [" "];
    case "D":
    case "S":
      return letters;
    case "W":
      return ["-"];
    case "b":
    case "B":
      return [""];
    case "n":
      return ["\n"];
    case "t":
      return ["\t"];
    case "r":
      return ["\r"];
    case "p":
    case "P":
      return property(reader, char === "P");
    case "u":
    case "x": {
      const [whole, wide, narrow] = /^(?:\{([0-9a-f]+)\}|([0-9a-f]{2,4}))/i.exec(
        reader.pattern.slice(reader.at),
      ) ?? [""];
      reader.at += whole.length;
      return [String.fromCodePoint(Number.parseInt(wide ?? narrow ?? "61", 16))];
    }
    default:
      return [char];
  }
}

function property(reader: Reader, negated: boolean): readonly string[] {
  const [whole = "", name = ""] = /^\{([^}]*)\}/.exec(reader.pattern.slice(reader.at)) ?? [];
  reader.at += whole.length;
  if (negated) return /^(L|Alpha|Lu|Ll)/.test(name) ? digits : letters;
  if (/^(Lu|Uppercase)/.test(name)) return letters.map((letter) => letter.toUpperCase());
  if (name.startsWith("N")) return digits;
  if (/^(Z|White)/.test(name)) return [" "];
  return name.startsWith("P") ? ["."] : letters;
}

/** The characters of a class, a few of each range. */
function classOf(reader: Reader): readonly string[] {
  const negated = reader.pattern[reader.at] === "^";
  if (negated) reader.at++;
  const chars: string[] = [];
  while (reader.at < reader.pattern.length && reader.pattern[reader.at] !== "]") {
    const from = classChar(reader);
    const [low = ""] = from;
    if (
      from.length === 1 &&
      reader.pattern[reader.at] === "-" &&
      reader.pattern[reader.at + 1] !== "]"
    ) {
      reader.at++;
      const [high = low] = classChar(reader);
      const [first, last] = [low.codePointAt(0) ?? 0, high.codePointAt(0) ?? 0];
      for (let point = first; point <= last && point < first + 26; point++)
        chars.push(String.fromCodePoint(point));
    } else chars.push(...from);
  }
  reader.at++;
  return negated ? anything.filter((char) => !chars.includes(char)) : chars;
}

function classChar(reader: Reader): readonly string[] {
  const char = reader.pattern[reader.at++] ?? "";
  return char === "\\" ? escaped(reader) : [char];
}
