import { readBundle } from "../../src/observe/recording/bundle/read-bundle.ts";
import { explain } from "../../src/observe/recording/explain/explain.ts";
import { exitCode } from "../exit-code.ts";
import { openBundleFile } from "./bundle-file.ts";
import { print, printJson } from "../../src/host/platform/print.ts";

export type ExplainOptions = {
  readonly config?: string | undefined;
  readonly json?: boolean | undefined;
};

/** `patchbay explain`: a recorded turn in sentences, and whose fault it is. */
export async function explainBundle(name: string, options: ExplainOptions): Promise<void> {
  const { text } = await openBundleFile(name, options.config);
  const explanation = explain(readBundle(text));
  const { id, recorded, content, sentences, verdict } = explanation;
  process.exitCode = verdict.fault === "gateway" ? exitCode.wrong : exitCode.well;
  if (options.json === true) return printJson(explanation);
  print(`Turn ${id}, recorded ${recorded}, content ${content}`);
  print(sentences);
}
