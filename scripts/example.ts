/** Runs an example by its name: `npm run example -- own-upstream`. */
import { readdirSync } from "node:fs";

const folder = new URL("../examples/", import.meta.url);
const [name = ""] = process.argv.slice(2);
const names = readdirSync(folder).flatMap((file) => /^(.*)\.ts$/.exec(file)?.[1] ?? []);
if (names.includes(name)) await import(new URL(`${name}.ts`, folder).href);
else {
  process.stderr.write(`There is no example \`${name}\`; name one of these: ${names.join(", ")}\n`);
  process.exitCode = 2;
}
