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

export type Masked = {
  readonly text: string;
  /** True if the value was written with references. */
  refers(value: string): boolean;
  /** The value with what its references stand for. */
  expand(value: string, wrong: (message: string) => void): string;
  /** The value as it was written. */
  unmask(value: string): string;
};

/** What references stand for. */
export type References = {
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
      return replace(value, (original) => resolve(original, references, wrong));
    },
    unmask: (value) => replace(value, (original) => original),
  };
}

function resolve(
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
    return preset.replaceAll(reference, (inner) => resolve(inner, references, wrong));
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
  const path = written.replaceAll(reference, (inner) => resolve(inner, references, wrong));
  try {
    return references.readFile(path).replace(/\r?\n$/, "");
  } catch (error) {
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    wrong(`\`${path}\` cannot be read (${code}); check the path and who may read it`);
    return "";
  }
}
