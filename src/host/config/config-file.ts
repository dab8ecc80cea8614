/** Reads a configuration file with its references to the environment, and knows the place of every value. */

import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import type { Document, ParsedNode } from "yaml";
import { pathText, type Path, type Problem } from "../../diagnostics/problem.ts";

/** A problem and where it stands. `line` and `column` count from 1. */
export type Finding = {
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  readonly path: string;
  readonly message: string;
};

/** `file:line:col path: what is wrong; remedy` */
export function findingLine({ file, line, column, path, message }: Finding): string {
  const place = [file, line, column].filter((part) => part !== undefined).join(":");
  return [[place, path].filter((part) => part !== "").join(" "), message]
    .filter((part) => part !== "")
    .join(": ");
}

/** What a configuration file says, and where it says each thing. */
export type ConfigFile = {
  readonly value: unknown;
  readonly findings: readonly Finding[];
  /** The variables of the environment that it asks for. */
  readonly variables: ReadonlySet<string>;
  /** The files whose text it asks for, as their paths are written. */
  readonly files: ReadonlySet<string>;
  /** Whether the value at the path came from the environment, and so is text whatever it means. */
  refers(path: Path): boolean;
  /** Where the value at the path is from: the variable or the file that it refers to. Undefined: it is written out. */
  sourceOf(path: Path): string | undefined;
  find(problem: Problem): Finding;
};

type Place = { readonly line: number; readonly column: number };

// Enough for any configuration; a file that unfolds to more does so by aliases, of aliases or of themselves.
const mostNodes = 20_000;
const deepest = 100;
const OVERFLOW = /call stack/;

/** Reads a configuration file, YAML or JSON, with its references to the environment resolved. */
export function readConfigFile(
  text: string,
  file: string,
  lookUp: (name: string) => string | undefined,
  readFile: (path: string) => string = () => "",
): ConfigFile {
  const lines = new LineCounter();
  const variables = new Set<string>();
  const files = new Set<string>();
  const masked = maskReferences(text, {
    lookUp(name) {
      variables.add(name);
      return lookUp(name);
    },
    readFile(path) {
      files.add(path);
      return readFile(path);
    },
  });
  const document = parseDocument(masked.text, {
    lineCounter: lines,
    prettyErrors: false,
    // Each key would be compared with all before it; here it is looked up.
    uniqueKeys: false,
  });
  const findings: Finding[] = [];
  const placeAt = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  // A parser that lost its way says the same of everything that follows.
  const deep = document.errors.find(({ message }) => OVERFLOW.test(message));
  for (const error of deep === undefined ? document.errors : [deep])
    findings.push({
      file,
      ...placeAt(error.pos[0]),
      path: "syntax",
      message: syntaxMessage(error.code, masked.unmask(error.message)),
    });
  const reading = new Reading(document, masked, placeAt);
  const read = findings.length > 0 ? undefined : reading.value(document.contents, []);
  const value = reading.isEndless() ? undefined : read;
  for (const { path, message } of reading.problems)
    findings.push({ file, ...reading.place(path), path: pathText(path), message });
  return {
    value,
    findings,
    variables,
    files,
    refers: (path) => reading.referring.has(JSON.stringify(path)),
    sourceOf(path) {
      const written = reading.referring.get(JSON.stringify(path)) ?? "";
      const names = Array.from(
        written.matchAll(/\$\{(?:file:([^{}]*)|([A-Za-z_]\w*))/g),
        ([, from = "", name = from]) => name,
      );
      return names.find((name) => (lookUp(name) ?? "") !== "") ?? names[0];
    },
    find: ({ path, message }) => ({
      file,
      ...reading.place(path),
      path: pathText(path),
      message,
    }),
  };
}

function syntaxMessage(code: string, message: string): string {
  if (OVERFLOW.test(message)) return "is nested too deep from here on; write it flatter";
  if (code === "MULTIPLE_DOCS") return "a second document begins here; keep one in the file";
  const sentence = message.charAt(0).toLowerCase() + message.slice(1).replace(/\.$/, "");
  return `${sentence}; check quotes, brackets and indentation around here`;
}

const ENDLESS =
  "unfolds without end, or is nested too deep; write aliases out, and the rest flatter";
const TWICE = "stands here for the second time; remove one of them";

/** One walk over a document: its value, and the place of every path in it. */
class Reading {
  readonly problems: Problem[] = [];
  /** Values with references as they are written, by path. */
  readonly referring = new Map<string, string>();
  readonly #document: Document.Parsed;
  readonly #masked: Masked;
  readonly #placeAt: (offset: number) => Place;
  readonly #places = new Map<string, Place>();
  #nodes = 0;
  #depth = 0;

  constructor(document: Document.Parsed, masked: Masked, placeAt: (offset: number) => Place) {
    this.#document = document;
    this.#masked = masked;
    this.#placeAt = placeAt;
  }

  value(node: ParsedNode | null | undefined, path: Path): unknown {
    this.#nodes += 1;
    if (this.#nodes > mostNodes || this.#depth > deepest) {
      if (this.#nodes <= mostNodes + 1) this.problems.push({ path, message: ENDLESS });
      // Once is enough to tell.
      this.#nodes = Infinity;
      return undefined;
    }
    this.#depth += 1;
    const value = this.#read(node, path);
    this.#depth -= 1;
    return value;
  }

  #read(node: ParsedNode | null | undefined, path: Path): unknown {
    if (node === null || node === undefined) return null;
    if (path.length > 0 && !this.#places.has(JSON.stringify(path))) this.#note(node, path);
    if (isAlias(node)) return this.value(node.resolve(this.#document) as ParsedNode, path);
    if (isMap(node)) return this.#group(node.items, path);
    if (isSeq(node)) return node.items.map((item, index) => this.value(item, [...path, index]));
    return isScalar(node) ? this.#scalar(node.value, path) : null;
  }

  /** Whether there is more of it than was read. */
  isEndless(): boolean {
    return this.#nodes === Infinity;
  }

  /** Where a path stands, or the nearest thing around it that does. */
  place(path: Path): Place | undefined {
    for (let length = path.length; length > 0; length--) {
      const place = this.#places.get(JSON.stringify(path.slice(0, length)));
      if (place !== undefined) return place;
    }
    const { contents } = this.#document;
    return contents === null ? undefined : this.#placeAt(contents.range[0]);
  }

  #group(pairs: readonly Pair[], path: Path): Record<string, unknown> {
    const entries = new Map<string, unknown>();
    const merged: unknown[] = [];
    for (const { key, value } of pairs) {
      const raw = isScalar(key) ? String(key.value) : String(key);
      if (raw === "<<") {
        merged.push(this.value(value, path));
        continue;
      }
      const name = this.#expand(raw, path);
      const inner = [...path, name];
      if (key !== null) this.#note(key, inner);
      if (entries.has(name)) this.problems.push({ path: inner, message: TWICE });
      entries.set(name, this.value(value, inner));
    }
    for (const group of merged.flat())
      for (const [key, value] of Object.entries(group ?? {}))
        if (!entries.has(key)) entries.set(key, value);
    return Object.fromEntries(entries);
  }

  #scalar(value: unknown, path: Path): unknown {
    if (typeof value !== "string") return value;
    if (this.#masked.refers(value))
      this.referring.set(JSON.stringify(path), this.#masked.unmask(value));
    return this.#expand(value, path);
  }

  #expand(value: string, path: Path): string {
    return this.#masked.expand(value, (message) => this.problems.push({ path, message }));
  }

  #note(node: ParsedNode, path: Path): void {
    this.#places.set(JSON.stringify(path), this.#placeAt(node.range[0]));
  }
}

type Pair = { readonly key: ParsedNode | null; readonly value: ParsedNode | null };

/**
 * `${NAME}` and `${NAME:-default}`; a default may hold one more reference.
 * `${file:PATH}` is what a file holds, and its path may hold one more reference.
 * `$${` is a plain `${`.
 */
const reference = /\$\$\{|\$\{(?:[^{}\n]|\{[^{}\n]*\})*\}/g;

// A reference is hidden from the YAML parser behind private-use characters of
// the same length: braces would break plain scalars, and what a variable holds
// must stay one value and never become YAML. Line and column stay true.
const first = 0xe000;
const base = 0x1000;
const filler = String.fromCharCode(first + base);
const mark = String.fromCharCode(first + base + 1);
const hidden = new RegExp(`${mark}([\\ue000-\\uefff])([\\ue000-\\uefff])${filler}*`, "g");

type Masked = {
  readonly text: string;
  /** True if the value was written with references. */
  refers(value: string): boolean;
  /** The value with what its references stand for. */
  expand(value: string, wrong: (message: string) => void): string;
  /** The value as it was written. */
  unmask(value: string): string;
};

/** What references stand for. */
type References = {
  /** A variable; undefined: it is not set. */
  readonly lookUp: (name: string) => string | undefined;
  /** The text of a file; throws what the system says where it cannot be read. */
  readonly readFile: (path: string) => string;
};

/** Hides the references of a text from its parser. */
export function maskReferences(text: string, references: References): Masked {
  const written: string[] = [];
  const masked = text.replaceAll(reference, (original) => {
    const index = written.push(original) - 1;
    const sign =
      mark +
      String.fromCharCode(first + Math.floor(index / base)) +
      String.fromCharCode(first + (index % base));
    return sign.padEnd(original.length, filler);
  });
  const replace = (value: string, by: (original: string) => string): string =>
    value.replaceAll(hidden, (sign, high: string, low: string) => {
      const index = (high.charCodeAt(0) - first) * base + low.charCodeAt(0) - first;
      return by(written[index] ?? sign);
    });
  return {
    text: masked,
    refers: (value) => value.search(hidden) >= 0,
    expand: (value, wrong) => {
      if (value.includes("${"))
        wrong("a `${` is not closed; write `${NAME}`, or `$${` for the characters themselves");
      return replace(value, (original) => resolveReference(original, references, wrong));
    },
    unmask: (value) => replace(value, (original) => original),
  };
}

function resolveReference(
  original: string,
  references: References,
  wrong: (message: string) => void,
): string {
  if (original === "$${") return "${";
  const [, path] = /^\$\{file:(.+)\}$/.exec(original) ?? [];
  if (path !== undefined) return fileText(path, references, wrong);
  const { lookUp } = references;
  const [, name, preset] = /^\$\{([A-Za-z_]\w*)(?::-(.*))?\}$/.exec(original) ?? [];
  if (name === undefined) {
    wrong(
      `\`${original}\` is not a reference; write \`\${NAME}\`, \`\${NAME:-default}\` or \`\${file:PATH}\``,
    );
    return "";
  }
  const value = lookUp(name);
  if (preset !== undefined && (value === undefined || value === ""))
    return preset.replaceAll(reference, (inner) => resolveReference(inner, references, wrong));
  if (value === undefined)
    wrong(`\`${name}\` is not set; export it, or give a default: \`\${${name}:-default}\``);
  return value ?? "";
}

/** A secret as service managers and containers hand it over: the file's text, without the end of its last line. */
function fileText(
  written: string,
  references: References,
  wrong: (message: string) => void,
): string {
  const path = written.replaceAll(reference, (inner) => resolveReference(inner, references, wrong));
  try {
    return references.readFile(path).replace(/\r?\n$/, "");
  } catch (error) {
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    wrong(`\`${path}\` cannot be read (${code}); check the path and who may read it`);
    return "";
  }
}
