/** Reads a configuration file with its references to the environment, and knows the place of every value. */

import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import type { Document, ParsedNode } from "yaml";
import { pathText, type Path, type Problem } from "../../diagnostics/problem.ts";

/** A problem with its place. `line` and `column` count from 1. */
export type Finding = {
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  readonly path: string;
  readonly message: string;
};

/** `file:line:col path: the problem; its remedy` */
export function findingLine({ file, line, column, path, message }: Finding): string {
  const place = [file, line, column].filter((part) => part !== undefined).join(":");
  return [[place, path].filter((part) => part !== "").join(" "), message]
    .filter((part) => part !== "")
    .join(": ");
}

/** Reads a configuration file, YAML or JSON, with its references to the environment resolved. */
export const readConfigFile = (
  text: string,
  file: string,
  lookUp: (name: string) => string | undefined,
  readFile: (path: string) => string = () => "",
): ConfigFile => new ConfigFile(text, file, { lookUp, readFile });

type Place = { readonly line: number; readonly column: number };

// Enough for any configuration; only aliases, of aliases or of themselves, unfold to more.
const MOST_NODES = 20_000;
const DEEPEST = 100;
const OVERFLOW = /call stack/;
const ENDLESS =
  "expands without end or is nested too deeply; replace aliases by their values, or nest less";
const TWICE = "is defined twice; remove one definition";

/** A configuration file: its value, and the place of every path in it. */
export class ConfigFile {
  /** Undefined if the file cannot be read to its end. */
  readonly value: unknown;
  readonly findings: Finding[] = [];
  /** The variables that it refers to. */
  readonly variables = new Set<string>();
  /** The paths of the files that it refers to, as they are written. */
  readonly files = new Set<string>();
  readonly #file: string;
  readonly #lookUp: References["lookUp"];
  readonly #lines = new LineCounter();
  readonly #masked: MaskedText;
  readonly #document: Document.Parsed;
  readonly #places = new Map<string, Place>();
  /** Values with references, as they are written, by path. */
  readonly #referring = new Map<string, string>();
  readonly #problems: Problem[] = [];
  #nodes = 0;
  #depth = 0;

  constructor(text: string, file: string, { lookUp, readFile }: References) {
    this.#file = file;
    this.#lookUp = lookUp;
    this.#masked = maskReferences(text, {
      lookUp: (name) => {
        this.variables.add(name);
        return lookUp(name);
      },
      readFile: (path) => {
        this.files.add(path);
        return readFile(path);
      },
    });
    this.#document = parseDocument(this.#masked.text, {
      lineCounter: this.#lines,
      prettyErrors: false,
      // The parser would compare each key with all before it; the walk below looks it up.
      uniqueKeys: false,
    });
    const { errors, contents } = this.#document;
    // After an overflow the parser repeats the error for everything that follows.
    const deep = errors.find(({ message }) => OVERFLOW.test(message));
    const shown = deep === undefined ? errors.slice(0, MOST_ERRORS) : [deep];
    for (const { code, message, pos } of shown)
      this.findings.push({
        file,
        ...this.#placeAt(pos[0]),
        path: "syntax",
        message: syntaxMessage(code, this.#masked.unmask(message)),
      });
    const value = this.findings.length > 0 ? undefined : this.#read(contents, []);
    this.value = this.#nodes === Infinity ? undefined : value;
    for (const problem of this.#problems) this.findings.push(this.find(problem));
  }

  /** True if the value at the path came from the environment, so that it is text. */
  refers(path: Path): boolean {
    return this.#referring.has(JSON.stringify(path));
  }

  /** The variable or file that the value at the path refers to; undefined if it is written out. */
  sourceOf(path: Path): string | undefined {
    const written = this.#referring.get(JSON.stringify(path)) ?? "";
    const names = Array.from(
      written.matchAll(/\$\{(?:file:([^{}]*)|([A-Za-z_]\w*))/g),
      ([, from = "", name = from]) => name,
    );
    return names.find((name) => (this.#lookUp(name) ?? "") !== "") ?? names[0];
  }

  /** A problem with the place of its path, or of the nearest thing around it. */
  find({ path, message }: Problem): Finding {
    return { file: this.#file, ...this.#place(path), path: pathText(path), message };
  }

  #place(path: Path): Place | undefined {
    for (let length = path.length; length > 0; length--) {
      const place = this.#places.get(JSON.stringify(path.slice(0, length)));
      if (place !== undefined) return place;
    }
    const { contents } = this.#document;
    return contents === null ? undefined : this.#placeAt(contents.range[0]);
  }

  #placeAt(offset: number): Place {
    const { line, col } = this.#lines.linePos(offset);
    return { line, column: col };
  }

  #note(node: ParsedNode, path: Path): void {
    this.#places.set(JSON.stringify(path), this.#placeAt(node.range[0]));
  }

  #read(node: ParsedNode | null | undefined, path: Path): unknown {
    this.#nodes += 1;
    if (this.#nodes > MOST_NODES || this.#depth > DEEPEST) {
      if (this.#nodes <= MOST_NODES + 1) this.#problems.push({ path, message: ENDLESS });
      // The problem is reported once.
      this.#nodes = Infinity;
      return undefined;
    }
    this.#depth += 1;
    const value = this.#valueOf(node, path);
    this.#depth -= 1;
    return value;
  }

  #valueOf(node: ParsedNode | null | undefined, path: Path): unknown {
    if (node === null || node === undefined) return null;
    if (path.length > 0 && !this.#places.has(JSON.stringify(path))) this.#note(node, path);
    if (isAlias(node)) return this.#read(node.resolve(this.#document) as ParsedNode, path);
    if (isMap(node)) return this.#group(node.items, path);
    if (isSeq(node)) return node.items.map((item, index) => this.#read(item, [...path, index]));
    if (!isScalar(node)) return null;
    const { value } = node;
    if (typeof value !== "string") return value;
    const written = this.#masked.unmask(value);
    if (written !== value) this.#referring.set(JSON.stringify(path), written);
    return this.#expand(value, path);
  }

  #group(pairs: readonly Pair[], path: Path): Record<string, unknown> {
    const entries = new Map<string, unknown>();
    const merged: unknown[] = [];
    for (const { key, value } of pairs) {
      const raw = isScalar(key) ? String(key.value) : String(key);
      if (raw === "<<") {
        merged.push(this.#read(value, path));
        continue;
      }
      const name = this.#expand(raw, path);
      const inner = [...path, name];
      if (key !== null) this.#note(key, inner);
      if (entries.has(name)) this.#problems.push({ path: inner, message: TWICE });
      entries.set(name, this.#read(value, inner));
    }
    for (const group of merged.flat())
      for (const [key, value] of Object.entries(group ?? {}))
        if (!entries.has(key)) entries.set(key, value);
    return Object.fromEntries(entries);
  }

  #expand(value: string, path: Path): string {
    return this.#masked.expand(value, (message) => this.#problems.push({ path, message }));
  }
}

type Pair = { readonly key: ParsedNode | null; readonly value: ParsedNode | null };

/** Most errors after the first ones are their consequences: a text that is no YAML has hundreds. */
const MOST_ERRORS = 3;
/** The parser quotes a whole token. */
const MOST_CHARS = 200;

function syntaxMessage(code: string, message: string): string {
  if (OVERFLOW.test(message)) return "is nested too deeply from here on; nest less";
  if (code === "MULTIPLE_DOCS") return "a second document begins here; keep one in the file";
  const sentence = message.charAt(0).toLowerCase() + message.slice(1).replace(/\.$/, "");
  const short = sentence.length > MOST_CHARS ? `${sentence.slice(0, MOST_CHARS)}…` : sentence;
  return `${short}; check quotes, brackets and indentation around here`;
}

/**
 * `${NAME}` and `${NAME:-default}`; a default may hold one more reference. `${file:PATH}` is the
 * text of a file, and its path may hold one more reference. `$${` is a plain `${`.
 */
const reference = /\$\$\{|\$\{(?:[^{}\n]|\{[^{}\n]*\})*\}/g;

// References are replaced for the YAML parser by private-use characters of the same length:
// braces would break plain scalars, and the value of a variable must stay one value and never
// become YAML. Line and column stay true.
const first = 0xe000;
const base = 0x1000;
const filler = String.fromCharCode(first + base);
const mark = String.fromCharCode(first + base + 1);
const hidden = new RegExp(`${mark}([\\ue000-\\uefff])([\\ue000-\\uefff])${filler}*`, "g");

type MaskedText = {
  readonly text: string;
  /** The value with its references resolved. */
  expand(value: string, wrong: (message: string) => void): string;
  /** The value as it was written. */
  unmask(value: string): string;
};

/** The values of references. */
type References = {
  /** The value of a variable; undefined if it is not set. */
  readonly lookUp: (name: string) => string | undefined;
  /** The text of a file. Throws a system error. */
  readonly readFile: (path: string) => string;
};

/** Hides the references of a text from its parser. */
export function maskReferences(text: string, references: References): MaskedText {
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
  const resolveInner = (text: string): string =>
    text.replaceAll(reference, (inner) => resolveReference(inner, references, wrong));
  const [, path] = /^\$\{file:(.+)\}$/.exec(original) ?? [];
  if (path !== undefined) return fileText(resolveInner(path), references, wrong);
  const [, name, preset] = /^\$\{([A-Za-z_]\w*)(?::-(.*))?\}$/.exec(original) ?? [];
  if (name === undefined) {
    wrong(
      `\`${original}\` is not a reference; write \`\${NAME}\`, \`\${NAME:-default}\` or \`\${file:PATH}\``,
    );
    return "";
  }
  const value = references.lookUp(name);
  if (preset !== undefined && (value === undefined || value === "")) return resolveInner(preset);
  if (value === undefined)
    wrong(`\`${name}\` is not set; export it, or give a default: \`\${${name}:-default}\``);
  return value ?? "";
}

/** A secret in the form of service managers and containers: the text of a file, without the end of its last line. */
function fileText(
  path: string,
  { readFile }: References,
  wrong: (message: string) => void,
): string {
  try {
    return readFile(path).replace(/\r?\n$/, "");
  } catch (error) {
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    wrong(`\`${path}\` cannot be read (${code}); check the path and its permissions`);
    return "";
  }
}
