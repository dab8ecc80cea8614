/** Writes capabilities into a configuration file, by changing its text and nothing around it. */

import { isDeepStrictEqual } from "node:util";
import type { Path } from "../../src/diagnostics/problem.ts";
import type { Capabilities } from "../../src/gateway/http/capabilities.ts";
import { Fault } from "../../src/turn/fault.ts";
import { isFields } from "../../src/json/json.ts";
import { readConfigFile } from "../../src/host/config/config-file.ts";
import { replaceFile } from "../../src/host/config/replace-file.ts";
import { LONGEST } from "../../src/host/config/sources.ts";
import { readText } from "../../src/host/platform/careful-files.ts";
import { setInText } from "./edit-text.ts";

export type Fix = {
  readonly upstream: string;
  readonly model: string;
  readonly capabilities: Capabilities;
};

/** Gives the text that is there now, and the path of the copy that is kept of what was there. */
export function writeFix(
  file: string,
  fix: Fix,
): { readonly text: string; readonly backup: string } {
  const text = fixedText(readText(file, { limit: LONGEST }), fix);
  return { text, backup: replaceFile(file, text) };
}

/** For this model alone: what was shown of one need not hold for another. */
export function fixedText(text: string, { upstream, model, capabilities }: Fix): string {
  const before = valueOf(text);
  if (!isFields(at(before, ["upstreams", upstream]))) throw noPlace(upstream);
  const place = ["upstreams", upstream, "capabilities", "models"];
  const entries = at(before, place);
  const list: readonly unknown[] = Array.isArray(entries) ? entries : [];
  const known = list.findIndex((entry) => isFields(entry) && entry.match === model);
  const changes: readonly Change[] =
    known === -1
      ? [{ path: [...place, list.length], value: { match: model, ...capabilities } }]
      : leaves(capabilities).map(({ path, value }) => ({
          path: [...place, known, ...path],
          value,
        }));
  let after = text;
  let expected = before;
  for (const { path, value } of changes) {
    expected = withValue(expected, path, value);
    const next = setInText(after, path, value);
    if (next === undefined) throw noPlace(upstream);
    after = next;
  }
  // Aliases and merges share places: what is written for one must not change another.
  if (!isDeepStrictEqual(valueOf(after), expected)) throw noPlace(upstream);
  return after;
}

const noPlace = (upstream: string): Fault =>
  new Fault(
    "request.invalid",
    `The file has no place of its own for \`upstreams.${upstream}.capabilities\`, so nothing is written; add the lines above by hand.`,
  );

type Change = { readonly path: Path; readonly value: unknown };

/** Variables stand for themselves here: what they hold does not matter. */
const valueOf = (text: string): unknown => readConfigFile(text, "", (name) => `\${${name}}`).value;

function at(value: unknown, path: Path): unknown {
  let inner = value;
  for (const step of path) inner = (inner as Record<string | number, unknown> | undefined)?.[step];
  return inner;
}

/** Every value below a group; lists are replaced as a whole. */
function leaves(group: object, path: Path = []): readonly Change[] {
  return Object.entries(group).flatMap(([key, value]): readonly Change[] =>
    isFields(value) ? leaves(value, [...path, key]) : [{ path: [...path, key], value }],
  );
}

function withValue(group: unknown, [step, ...rest]: Path, value: unknown): unknown {
  if (step === undefined) return value;
  if (typeof step === "number") {
    const list: readonly unknown[] = Array.isArray(group) ? group : [];
    return list.toSpliced(step, 1, withValue(list[step], rest, value));
  }
  const fields = isFields(group) ? group : {};
  return { ...fields, [step]: withValue(fields[step], rest, value) };
}
