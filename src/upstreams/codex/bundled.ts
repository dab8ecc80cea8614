import { execFile } from "node:child_process";
import { fieldsIn, fieldsOf, listOf, filledText, numberOf } from "../../dialects/shared/loose.ts";

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

/** In the order in which Codex offers them. */
const readModels = (text: string): readonly string[] =>
  (listOf(fieldsIn(text)?.models) ?? [])
    .flatMap((one) => {
      const model = fieldsOf(one);
      const slug = filledText(model?.slug);
      if (slug === undefined || model?.visibility === "hide") return [];
      return { slug, priority: numberOf(model?.priority) ?? Infinity };
    })
    .toSorted((a, b) => (a.priority < b.priority ? -1 : Number(a.priority > b.priority)))
    .map(({ slug }) => slug);
