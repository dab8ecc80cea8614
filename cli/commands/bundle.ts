import { readBundle } from "../../src/observe/recording/bundle/read-bundle.ts";
import { scrubber, secretsIn } from "../../src/observe/recording/masking/secrets.ts";
import { environment } from "../../src/host/config/env.ts";
import { loadConfig } from "../../src/host/config/load.ts";
import { exitCode } from "../exit-code.ts";
import { openBundleFile } from "./bundle-file.ts";
import { print, printJson } from "../../src/host/platform/print.ts";

export type BundleOptions = {
  readonly config?: string | undefined;
  readonly preview?: boolean | undefined;
  readonly check?: boolean | undefined;
  readonly json?: boolean | undefined;
};

/** `patchbay bundle`: what a bundle would tell whoever it is given to. */
export async function bundle(name: string, options: BundleOptions): Promise<void> {
  const { path, text } = await openBundleFile(name, options.config);
  const { head } = readBundle(text);
  const found = leaksIn(text, options.config);
  process.exitCode = found.length === 0 ? exitCode.well : exitCode.wrong;
  const { content, names, left_out } = head;
  if (options.json === true) return printJson({ path, content, names, left_out, found });
  if (options.preview === true) print(previewLines(text));
  print(
    content === "masked"
      ? `${path}: words and numbers of the conversation are masked${names === "masked" ? ", names of tools too" : "; names of tools and keys of schemas are there"}.`
      : `${path}: the conversation is there as it was; give it to nobody who may not read it.`,
  );
  print(`Not written: ${left_out.join(", ") || "nothing"}.`);
  for (const one of found) print(`Line ${one.line} holds what looks like a key.`);
  print(
    found.length === 0
      ? "No key was found."
      : "Do not share it; record the turn again with this version, and tell us.",
  );
}

/** Lines in which something would be taken out, by what this machine knows now. */
function leaksIn(text: string, file: string | undefined): readonly { readonly line: number }[] {
  const env = environment();
  const loaded = loadConfig({ file, env, directory: process.cwd() });
  const scrub = scrubber([...secretsIn(env), ...(loaded.ok ? secretsIn(loaded.config) : [])]);
  return text.split("\n").flatMap((line, at) => (scrub(line) === line ? [] : [{ line: at + 1 }]));
}

/** Every line as it stands, with texts unfolded. */
const previewLines = (text: string): string[] =>
  text
    .trim()
    .split("\n")
    .flatMap((line) => {
      const { line: type, text: said, body, ...rest } = JSON.parse(line) as Record<string, unknown>;
      const head = `-- ${String(type)} ${JSON.stringify(rest)}`;
      const texts = [said, body].filter((one) => typeof one === "string");
      return [head, ...texts].join("\n").split("\n");
    });
