import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const program = fileURLToPath(new URL("../../node_modules/.bin/gemini", import.meta.url));
export const missing = !existsSync(program);
if (missing) process.stderr.write("Gemini CLI is not run: @google/gemini-cli is not installed\n");
