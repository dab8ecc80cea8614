import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pages } from "./generate.ts";
import { picture } from "./picture.ts";

const root = join(import.meta.dirname, "..");
for (const [path, make] of Object.entries(pages)) {
  const file = join(root, path);
  writeFileSync(file, make(readFileSync(file, "utf8")));
}
writeFileSync(join(root, "docs/picture.svg"), await picture());
