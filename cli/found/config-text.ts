import { localDialect } from "../../src/host/config/providers.ts";
import type { Found } from "./found.ts";

type Entry = {
  readonly name: string;
  readonly why: string;
  readonly fields: Readonly<Record<string, string | undefined>>;
  /** The place that `"*"` leads to where there is no other upstream. */
  readonly rest: string;
};

/**
 * A configuration of all that was found, with a word on each line's reason. Keys
 * stay where they are: the file names their variables.
 */
export function configText(found: Found): string {
  const entries = [...keyEntries(found), ...codexEntries(found), ...serverEntries(found)];
  const [first, ...others] = entries;
  const isDemo = first === undefined;
  const lines = [
    "# Written by `patchbay init`. `patchbay check` says what is wrong with it,",
    "# `patchbay serve` takes it up. After a change run `patchbay trust`: a running gateway takes it up then.",
    "upstreams:",
    ...entries.flatMap(entryLines),
    ...(isDemo
      ? ["  demo: { dialect: scripted }   # the embedded demo model, which needs no key"]
      : []),
    ...modelLines(found, first, others),
  ];
  return `${lines.join("\n")}\n`;
}

/** A text in quotes. Local servers choose the names of models: a `${` in them refers to no variable. */
const quoted = (text: string): string => JSON.stringify(text).replaceAll("${", () => "$${");

const placeOf = ({ rest }: Entry): string => quoted(rest);

function modelLines(
  { servers }: Found,
  first: Entry | undefined,
  others: readonly Entry[],
): readonly string[] {
  // Two servers may list the same model: the first serves it, and both by `server/model`.
  const places = new Map<string, string>();
  for (const { name, models } of servers)
    for (const model of models)
      if (model !== "*" && !places.has(model)) places.set(model, `${name}/${model}`);
  const listed = Array.from(places, ([model, place]) => `  ${quoted(model)}: ${quoted(place)}`);
  const head = "models:   # what clients ask for: upstream/model; a list is tried in order";
  const rest = "   # every other name";
  if (first === undefined) return [head, "  demo: demo/demo", `  "*": demo/demo${rest}`];
  if (others.length === 0) return [head, ...listed, `  "*": ${placeOf(first)}${rest}`];
  return [...(listed.length === 0 ? [] : [head, ...listed]), ...severalLines(first)];
}

/** An explicit `"*"` would send the models of every provider to one of them. */
const severalLines = (first: Entry): readonly string[] => [
  "# A model name that is not under `models` goes to the upstream whose provider has such models:",
  "# claude-* to Anthropic, gpt-* to OpenAI. To answer for every other name too, add there:",
  `#   "*": ${placeOf(first)}`,
];

const keyEntries = ({ keys }: Found): Entry[] =>
  keys.map(({ provider, variable, dialect, profile, base_url, rest }) => {
    const fields = { dialect, profile, base_url, api_key: `\${${variable}}` };
    return { name: provider, why: `${variable} is set`, fields, rest };
  });

const codexEntries = ({ codex }: Found): Entry[] =>
  codex
    ? [{ name: "codex", why: "Codex is signed in", fields: { dialect: "codex" }, rest: "codex/*" }]
    : [];

const serverEntries = ({ servers }: Found): Entry[] =>
  servers.map(({ name, title, address, profile, models }) => ({
    name,
    why: `${title} answered at ${address}`,
    fields: { dialect: localDialect, profile, base_url: `${address}/v1` },
    rest: `${name}/${models[0] ?? "*"}`,
  }));

const entryLines = ({ name, why, fields }: Entry): string[] => [
  `  ${name}:   # ${why}`,
  ...Object.entries(fields).flatMap(([field, value]) =>
    value === undefined ? [] : [`    ${field}: ${value}`],
  ),
];
