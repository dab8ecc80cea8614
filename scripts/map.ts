import { readdirSync, readFileSync } from "node:fs";
import { basename, join, relative, sep } from "node:path";

const source = join(import.meta.dirname, "../src");

/** `docs/map.md`: what every file of the source is for, by room. */
export function mapPage(): string {
  const silent = sourceFiles().filter((path) => purposeOf(path) === "");
  if (silent.length > 0)
    throw new Error(`no comment says what these are for: ${silent.join(", ")}`);
  const rooms = Map.groupBy(sourceFiles(), (path) => {
    const [room = "", file] = path.split("/");
    return file === undefined ? "" : room;
  });
  const chapters = [...rooms].map(
    ([room, paths]) => `## ${room === "" ? "At the top" : `\`${room}\``}

${paths.map((path) => `- \`${path}\`: ${purposeOf(path)}`).join("\n")}
`,
  );
  return `# The map

One line for every file of \`src\`: the first sentence of the comment on top of it or on its main export. Made by \`npm run docs\`. Which room may import which is in [CONTRIBUTING](../CONTRIBUTING.md#the-map).

${chapters.join("\n")}`;
}

/** Every file but tests, those of the top first, then room by room. */
const sourceFiles = (): string[] =>
  readdirSync(source, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /(?<!\.test)\.ts$/.test(entry.name))
    .map((entry) => relative(source, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .toSorted((a, b) => Number(a.includes("/")) - Number(b.includes("/")) || (a < b ? -1 : 1));

/** The first sentence of a file's own comment, else of its main export's. */
function purposeOf(path: string): string {
  const text = readFileSync(join(source, path), "utf8");
  const own = /^(?:#!.*\n)?\/\*\*((?:(?!\*\/).)*)\*\/\n\n/s.exec(text)?.[1];
  const name = basename(path, ".ts").replaceAll("-", "");
  return firstSentence(own ?? mainExport(text, name)?.comment ?? "");
}

type Export = { readonly comment: string; readonly form: string; readonly name: string };

/** A comment and the export behind it. */
const EXPORTED =
  /\/\*\*((?:(?!\*\/).)*)\*\/\nexport (?:abstract |async |declare )*(class|const|function|let|type)\*? (\w+)/gs;

/** The export named as its file, else one whose name holds the file's, else the first that is no type. */
function mainExport(text: string, file: string): Export | undefined {
  const all = [...text.matchAll(EXPORTED)].map(
    ([, comment = "", form = "", name = ""]): Export => ({
      comment,
      form,
      name: name.toLowerCase(),
    }),
  );
  return (
    all.find(({ name }) => name === file) ??
    all.find(({ name, form }) => form !== "type" && name.includes(file)) ??
    all.find(({ form }) => form === "function" || form === "class") ??
    all.find(({ form }) => form !== "type") ??
    all[0]
  );
}

function firstSentence(comment: string): string {
  const words = comment
    .replaceAll(/^\s*\* ?/gm, "")
    .replaceAll(/\s+/g, " ")
    .trim();
  const sentence = /^.*?[.!?](?= [A-Z`]|$)/.exec(words)?.[0] ?? words;
  return sentence.replace(/[.:]$/, "");
}
