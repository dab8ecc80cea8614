import { existsSync, readFileSync, statSync } from "node:fs";
import { isBuiltin, stripTypeScriptTypes } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const packages = fileURLToPath(new URL("../../node_modules/", import.meta.url));

/** What a runtime that is not Node goes by when it looks a package up. */
const conditions = new Set(["worker", "browser", "module", "import", "default"]);

type Exports = string | { readonly [condition: string]: Exports };

function pick(entry: Exports | undefined): string | undefined {
  if (entry === undefined || typeof entry === "string") return entry;
  for (const [condition, inner] of Object.entries(entry)) {
    const found = conditions.has(condition) ? pick(inner) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

function resolvePackage(specifier: string): string {
  const [, name = "", below = ""] = /^((?:@[^/]+\/)?[^/]+)(.*)$/.exec(specifier) ?? [];
  const folder = join(packages, name);
  const { exports, module } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    exports?: Exports;
    module?: string;
  };
  const asked = `.${below}`;
  const isMap = typeof exports === "object" && Object.keys(exports).some((key) => key[0] === ".");
  const entry = isMap ? exports[asked] : below === "" ? exports : undefined;
  return join(folder, pick(entry) ?? module ?? "index.js");
}

/** Some packages leave the end of a file's name to whoever bundles them. */
function withExtension(path: string): string {
  const candidates = [path, `${path}.js`, join(path, "index.js")];
  return candidates.find((one) => existsSync(one) && statSync(one).isFile()) ?? path;
}

/** The file behind an import; throws for what only Node has. */
export function resolveModule(specifier: string, from: string): string {
  if (specifier.startsWith(".")) return withExtension(resolve(dirname(from), specifier));
  if (isBuiltin(specifier)) throw new Error(`${from} imports ${specifier}`);
  return resolvePackage(specifier);
}

/** A module as it is run: without its types. */
export const readModule = (path: string): string => {
  const text = readFileSync(path, "utf8");
  return path.endsWith(".ts") ? stripTypeScriptTypes(text) : text;
};

const IMPORT =
  /(?:^|[;\n}])\s*(?:import|export)\s[^;"'`]*?\bfrom\s*["']([^"']+)["']|(?:^|[;\n}])\s*import\s*["']([^"']+)["']|\b(?:import|require)\(\s*["']([^"']+)["']/g;
const GLOBAL = /(?<![.\w$"'`-])(?:Buffer|process|global|require|__dirname|setImmediate)\b(?=[.([])/;

/** Comments away: what they say is not run. */
const codeOf = (text: string): string => text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");

export type Graph = { readonly files: readonly string[]; readonly problems: readonly string[] };

/** Every module that an entry reaches, its packages' own included, and what in them only Node has. */
export function walkModules(entry: string, read = readModule): Graph {
  const files = new Set<string>();
  const problems: string[] = [];
  const visit = (path: string): void => {
    if (files.has(path)) return;
    files.add(path);
    const code = codeOf(read(path));
    const named = path.startsWith(packages) ? undefined : GLOBAL.exec(code)?.[0];
    if (named !== undefined) problems.push(`${path} uses ${named}`);
    for (const match of code.matchAll(IMPORT))
      try {
        visit(resolveModule(match[1] ?? match[2] ?? match[3] ?? "", path));
      } catch (error) {
        problems.push((error as Error).message);
      }
  };
  visit(entry);
  return { files: [...files], problems };
}
