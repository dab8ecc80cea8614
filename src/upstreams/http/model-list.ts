import { z } from "zod";
import { jsonOf } from "../../json/json.ts";

const named = z.looseObject({
  id: z.string().optional().catch(undefined),
  slug: z.string().optional().catch(undefined),
  name: z.string().optional().catch(undefined),
});
const entries = z
  .array(z.union([z.string(), named]))
  .optional()
  .catch(undefined);
const list = z
  .union([z.array(z.unknown()).transform((data) => ({ data })), z.looseObject({})])
  .pipe(z.looseObject({ data: entries, models: entries }))
  .catch({ data: [], models: [] });

/** The names in a model list, in whichever of the shapes that servers have for it. */
export function readModels(text: string): readonly string[] {
  // A server without a list is a server all the same.
  const { data, models } = list.parse(jsonOf(text));
  const names = (data ?? models ?? []).map((entry) =>
    typeof entry === "string" ? entry : (entry.id ?? entry.slug ?? entry.name ?? ""),
  );
  return [...new Set(names.filter((name) => name !== ""))];
}
