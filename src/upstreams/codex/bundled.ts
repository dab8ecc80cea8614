import { execFile } from "node:child_process";
import { fieldsIn, fieldsOf, listOf, filledText } from "../../dialects/shared/loose.ts";

/** The models in this Codex's own catalog that it shows to users; none where it cannot list them. */
export function bundledModels(
  file: string,
  environment: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const options = { env: environment, timeout: 10_000, maxBuffer: 32 * 1024 * 1024 };
  return new Promise((resolve) => {
    execFile(file, ["debug", "models", "--bundled"], options, (error, stdout) => {
      resolve(error === null ? readModels(stdout) : []);
    });
  });
}

const readModels = (text: string): readonly string[] =>
  (listOf(fieldsIn(text)?.models) ?? []).flatMap((one) => {
    const model = fieldsOf(one);
    const slug = filledText(model?.slug);
    return slug === undefined || model?.visibility === "hide" ? [] : [slug];
  });
