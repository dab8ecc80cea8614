import { z } from "zod";
import { configSchema } from "../../src/gateway/config.ts";
import { flags } from "../../src/host/config/env.ts";
import { code, table } from "./table.ts";

type Node = {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: string | number | boolean;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly additionalProperties?: Node | boolean;
  readonly anyOf?: readonly Node[];
  readonly oneOf?: readonly Node[];
  readonly items?: Node;
};

/** The setting of each variable of the environment. */
const variables = Object.entries(flags).flatMap(([name, { path }]) =>
  path === undefined ? [] : [[path.join("."), name] as const],
);

function typeOf(node: Node): string {
  if (node.const !== undefined) return code(String(node.const));
  if (node.enum !== undefined) return node.enum.map((one) => code(String(one))).join(", ");
  const choices = node.anyOf ?? node.oneOf;
  if (choices !== undefined) return [...new Set(choices.map(typeOf))].join(" or ");
  if (node.type === "array")
    return `list of ${node.items === undefined ? "any" : typeOf(node.items)}`;
  if (node.type === "object") return "group";
  return node.type ?? "any";
}

/** The settings of a group, with their full paths; groups within it come after their own row. */
function settingsOf(node: Node, path: string): (readonly string[])[] {
  return Object.entries(node.properties ?? {}).flatMap(([key, member]) => {
    const at = path === "" ? key : `${path}.${key}`;
    // A group with a description has a page for its fields.
    if (member.properties !== undefined && member.description === undefined)
      return settingsOf(member, at);
    if (member.description === undefined)
      throw new Error(`The setting ${at} has no description: add \`.describe()\` to its schema.`);
    const environment = variables.filter(([set]) => set === at).map(([, name]) => code(name));
    const preset = member.default === undefined ? "" : code(JSON.stringify(member.default));
    const inside = (member.anyOf ?? member.oneOf ?? []).flatMap((one) => settingsOf(one, at));
    const row = [code(at), typeOf(member), preset, environment.join(", "), member.description];
    const all: (readonly string[])[] = [row];
    return all.concat(inside);
  });
}

const head = ["setting", "type", "default", "environment", "meaning"];
const rows = (settings: readonly (readonly string[])[]): string =>
  settings.some((row) => row[3] !== "")
    ? table(head, settings)
    : table(
        head.filter((_, at) => at !== 3),
        settings.map((row) => row.filter((_, at) => at !== 3)),
      );

/** `docs/reference/configuration.md`, from the schema that reads the file. */
export function configurationPage(): string {
  const schema = z.toJSONSchema(configSchema, { io: "input", unrepresentable: "any" }) as Node;
  const sections = Object.entries(schema.properties ?? {}).map(([name, node]) => {
    const title = `## ${name}\n\n${node.description ?? missing(name)}\n\n`;
    if (name === "upstreams") return title + upstreamTables(node);
    if (node.properties !== undefined) return title + rows(settingsOf(node, name));
    const kinds = node.oneOf ?? node.anyOf;
    if (kinds !== undefined) {
      const byName = Map.groupBy(
        kinds.flatMap((one) => settingsOf(one, name)),
        ([setting]) => setting,
      );
      return title + rows(Array.from(byName.values(), joined));
    }
    const entry = typeof node.additionalProperties === "object" ? node.additionalProperties : {};
    return entry.properties === undefined
      ? title.trimEnd()
      : title + rows(settingsOf(entry, `${name}.NAME`));
  });
  return `# Configuration

After this page you know every setting. \`npm run docs\` makes this page from the schema that reads the file.

The file is YAML or JSON; [Running a gateway](../guides/running.md) explains which file is used, how \`\${NAME}\` works, and when changes apply. A variable of the environment overrides its setting; an empty variable counts as unset. Switches in variables are \`true\`, \`1\`, \`yes\`, \`on\` or \`false\`, \`0\`, \`no\`, \`off\`. \`patchbay check\` finds every mistake, with the nearest known name. Times are in milliseconds and sizes in bytes.

\`PROXY_FORCE_JSONRPC_STREAM_FOR_NONSTREAM\` of the older proxy is accepted and changes nothing, because every answer is made from a stream.

${sections.join("\n\n")}
`;
}

function missing(name: string): never {
  throw new Error(`The section ${name} has no description: add \`.describe()\` to its schema.`);
}

/** One row for a setting that several kinds have, with the types of all. */
function joined(same: readonly (readonly string[])[]): readonly string[] {
  const [[setting = "", , ...rest] = []] = same;
  return [setting, [...new Set(same.map(([, type = ""]) => type))].join(", "), ...rest];
}

/** One table for each form of upstream. */
function upstreamTables({ additionalProperties }: Node): string {
  const forms = typeof additionalProperties === "object" ? (additionalProperties.oneOf ?? []) : [];
  return forms
    .map((form) => {
      const dialect = form.properties?.["dialect"];
      const names = dialect?.enum ?? [dialect?.const];
      const title = names.map((name) => code(String(name))).join(", ");
      return `### Upstreams with \`dialect\` ${title}\n\n${rows(settingsOf(form, "upstreams.NAME"))}`;
    })
    .join("\n\n");
}
