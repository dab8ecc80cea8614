/** Removes the declarations from `dist` that none of the package's entries leads to: who uses the package cannot import them. */

import { existsSync, globSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

type Manifest = { readonly exports: Readonly<Record<string, string | { readonly types: string }>> };

const root = resolve(process.argv[2] ?? ".");
const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;

const reached = new Set<string>();
const waiting = Object.values(exports).flatMap((entry) =>
  typeof entry === "string" ? [] : [join(root, entry.types)],
);
for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
  if (reached.has(file)) continue;
  reached.add(file);
  const text = readFileSync(file, "utf8");
  for (const [, name = ""] of text.matchAll(/(?:from |import\(|import )"(\.[^"]+)"/g)) {
    const declaration = join(dirname(file), name.replace(/\.(?:js|ts)$/, ".d.ts"));
    if (!existsSync(declaration)) throw new Error(`${file} leads to ${name}, which is not there.`);
    waiting.push(declaration);
  }
}
for (const name of globSync("dist/**/*.d.ts", { cwd: root }))
  if (!reached.has(join(root, name))) rmSync(join(root, name));
