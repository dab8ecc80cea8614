/** Writes capabilities into a configuration file in YAML or JSON, which keeps its comments. */

import { isDeepStrictEqual } from "node:util";
import {
  Document,
  isMap,
  isSeq,
  parse,
  parseDocument,
  type ToStringOptions,
  type YAMLSeq,
} from "yaml";
import { LONGEST, maskReferences, replaceFile, type Path } from "../../src/configuration.ts";
import type { Capabilities } from "../../src/inspection.ts";
import { isFields, jsonOf, readTextFile, refusal } from "../../src/terminal.ts";
import { jsonSettings } from "../launch/keep/json-settings.ts";
import type { SettingValue } from "../launch/keep/settings.ts";

type Fix = {
  readonly upstream: string;
  readonly model: string;
  readonly capabilities: Capabilities;
};

/** Gives the new text, and the path of the copy that is kept of the old one. */
export function writeFix(
  file: string,
  fix: Fix,
): { readonly text: string; readonly backup: string } {
  const text = fixedText(readTextFile(file, { limit: LONGEST }), fix);
  return { text, backup: replaceFile(file, text) };
}

/** Sets the capabilities of this model alone: another model was not probed. */
export function fixedText(text: string, fix: Fix): string {
  // The braces of a reference to a variable would begin a group.
  const masked = maskReferences(text, { lookUp: () => "", readFile: () => "" });
  const fixed = withCapabilities(masked.text, fix);
  if (fixed !== undefined) return masked.unmask(fixed);
  throw refusal(
    `The file has no place of its own for \`upstreams.${fix.upstream}.capabilities\`, so nothing is written; add the lines above by hand.`,
  );
}

/** Undefined if there is no place for the capabilities, or another place would change with it. */
function withCapabilities(
  text: string,
  { upstream, model, capabilities }: Fix,
): string | undefined {
  const document = parseDocument(text, { uniqueKeys: false });
  const place = ["upstreams", upstream, "capabilities", "models"];
  const owner = document.getIn(place.slice(0, 2), true);
  if (document.errors.length > 0 || !isMap(owner)) return undefined;
  const entries = document.getIn(place, true);
  const items: readonly unknown[] = isSeq(entries) ? entries.items : [];
  const known = items.findIndex((item) => isMap(item) && item.get("match") === model);
  const changes: readonly Change[] =
    known === -1
      ? [{ path: [...place, items.length], value: { match: model, ...capabilities } }]
      : leaves(capabilities, [...place, known]);
  // Without anchors: aliases and merges share places, and a change of one must not change another.
  const expected = new Document(document.toJS(), { aliasDuplicateObjects: false });
  try {
    for (const { path, value } of changes) {
      expected.setIn(path, value);
      const list = document.getIn(path, true);
      // A list keeps its comment and its form.
      if (isSeq(list) && Array.isArray(value))
        list.items = value.map((one) => document.createNode(one));
      else document.setIn(path, value);
    }
    const fixed =
      jsonOf(text) === undefined
        ? document.toString(layoutOf(text))
        : withValue(text, place, expected.getIn(place) as YAMLSeq);
    return isDeepStrictEqual(parse(fixed), expected.toJS()) ? fixed : undefined;
  } catch {
    return undefined; // The path leads through an alias, or through a value that is no group.
  }
}

/** A text of JSON, which stays JSON. */
const withValue = (text: string, path: readonly string[], list: YAMLSeq): string =>
  jsonSettings(false).write(text, [{ path, value: list.toJSON() as SettingValue }], "").text;

type Change = { readonly path: Path; readonly value: unknown };

/** Every value below a group; lists are replaced as a whole. */
function leaves(group: object, path: Path): readonly Change[] {
  return Object.entries(group).flatMap(([key, value]): readonly Change[] =>
    isFields(value) ? leaves(value, [...path, key]) : [{ path: [...path, key], value }],
  );
}

/** The layout of a text, as far as the library can keep it. */
const layoutOf = (text: string): ToStringOptions => ({
  lineWidth: 0,
  indent: /^( +)[^\s#-]/m.exec(text)?.[1]?.length ?? 2,
  indentSeq: !/^( *)[^\s#-].*\n\1- /m.test(text),
  flowCollectionPadding: /[{[] /.test(text),
});
