import { paramPath, writeParams } from "../../src/dialects/shared/params.ts";
import { chat } from "../../src/dialects/chat/chat.ts";
import { builtinDialects } from "../../src/dialects/registry.ts";
import type { DialectTraits } from "../../src/turn/dialect-traits.ts";
import { responses } from "../../src/dialects/responses/responses.ts";
import type { Verdict } from "../../src/tools/plan/plan.ts";
import { toolsetOf } from "../../src/tools/plan/toolset.ts";
import type { Profile } from "../../src/turn/profile.ts";
import type { Params } from "../../src/turn/turn.ts";
import { isFields } from "../../src/json/json.ts";
import { NO_LIMIT, openaiOnly } from "../../src/profiles/extend.ts";
import { modelProfile } from "../../src/profiles/models.ts";
import { profiles } from "../../src/profiles/profiles.ts";

import { capabilitiesSchema } from "../../src/gateway/capabilities.ts";
import { z } from "zod";
import { code, described, table } from "./table.ts";

const object = { type: "object", properties: {} };
/** A tool of every kind, as a client of the Responses API declares it. */
const kinds: Readonly<Record<string, object>> = {
  function: { type: "function", name: "a", parameters: object },
  custom: { type: "custom", name: "b" },
  namespace: {
    type: "namespace",
    name: "c",
    tools: [{ type: "function", name: "d", parameters: object }],
  },
  tool_search: { type: "tool_search", execution: "client", parameters: object },
  local_shell: { type: "local_shell" },
  shell: { type: "shell" },
  apply_patch: { type: "apply_patch" },
  web_search: { type: "web_search" },
  file_search: { type: "file_search", vector_store_ids: ["v"] },
  mcp: { type: "mcp", server_label: "e", server_url: "https://mcp.example" },
  code_interpreter: { type: "code_interpreter" },
  computer_use: { type: "computer_use" },
  image_generation: { type: "image_generation" },
};

const traitsOf = ({ dialect }: Profile): DialectTraits | undefined =>
  builtinDialects.get(dialect)?.traits;

/** What becomes of each kind of tool, by asking the planner itself. */
function verdicts(profile: Profile): readonly Verdict[] {
  const tools = Object.values(kinds);
  const turn = responses.door.readRequest({ model: "m", input: "Hi", tools });
  return toolsetOf(turn, profile).verdicts.map(({ verdict }) => verdict);
}

/** The profiles of providers, which a script is not. */
const provided = [...profiles.values()].filter(({ dialect }) => dialect !== "scripted");

/**
 * The verdict of each kind of tool for each provider. Providers with the same verdicts share a
 * row, kinds with the same verdicts a column.
 */
export function supportMatrix(): string {
  const rows = Map.groupBy(provided, (profile) => verdicts(profile).join(" "));
  const columns = Map.groupBy(Object.keys(kinds).entries(), ([at]) =>
    Array.from(rows.keys(), (row) => row.split(" ")[at]).join(" "),
  );
  return table(
    [
      "provider",
      ...Array.from(columns.values(), (same) => same.map(([, kind]) => code(kind)).join(", ")),
    ],
    Array.from(rows, ([row, profiles]) => [
      providerNames(profiles),
      ...Array.from(columns.values(), ([[at] = [0]]) => row.split(" ")[at] ?? ""),
    ]),
  );
}

/** The names of profiles; one name for a provider whose dialects are all in the row. */
function providerNames(profiles: readonly Profile[]): string {
  const names = profiles.map(({ name }) => name);
  const bare = (name: string): string => name.replace(/-(?:chat|responses|messages)$/, "");
  const others = new Set(
    provided.filter(({ name }) => !names.includes(name)).map(({ name }) => bare(name)),
  );
  const shown = names.map((name) => {
    if (bare(name) === "generic") return `any other ${name.replace("generic-", "")} server`;
    return others.has(bare(name)) ? name : bare(name);
  });
  return [...new Set(shown)].join(", ");
}

/** `docs/reference/profiles.md`, from the profiles themselves. */
export function profilesPage(): string {
  const asked = provided.map(({ name, dialect, tools, formats, reasoning, history }) => [
    `\`${name}\``,
    dialect,
    tools.max === NO_LIMIT ? "upstream decides" : `${tools.max}`,
    tools.choice.join(" "),
    formats.join(" "),
    reasoning,
    history?.media === undefined ? "any" : history.media.join(" ") || "text only",
  ]);
  const said = provided.flatMap((profile) => {
    const words = Object.entries(profile.params) as [keyof Params, string | null][];
    const own = (name: keyof Params): string => `\`${traitsOf(profile)?.params[name] ?? name}\``;
    const other = words.flatMap(([name, word]) =>
      word === null || own(name) === `\`${word}\`` ? [] : `${own(name)} as \`${word}\``,
    );
    const none = words.flatMap(([name, word]) =>
      word === null && !(name in openaiOnly) ? own(name) : [],
    );
    if (other.length + none.length === 0) return [];
    return [[`\`${profile.name}\``, other.join(", "), none.join(", ")]];
  });
  return profilesText({
    matrix: supportMatrix(),
    efforts: effortTable(),
    models: modelTable(),
    asked: table(
      ["profile", "dialect", "most tools", "tool choice", "formats", "reasoning", "media"],
      asked,
    ),
    said: table(["profile", "renamed", "not supported"], said),
  });
}

const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/** What each effort becomes, by asking the writer of requests itself. */
function effortTable(): string {
  const rows = provided.flatMap((profile) => {
    const named = (profile.models ?? []).filter(({ effort }) => effort !== undefined);
    return [{ match: "" }, ...named].flatMap(({ match }) => {
      const globs = [match].flat();
      const alike = modelProfile(profile, globs[0]?.replaceAll("*", "") ?? "");
      if (alike.effort === undefined) return [];
      const models = match === "" ? [] : globs.map((glob) => `\`${glob}\``);
      const cells = efforts.map((effort) => effortCell(alike, effort));
      return [[[`\`${profile.name}\``, ...models].join(" "), ...cells]];
    });
  });
  return table(["profile, models", ...efforts.map((effort) => `\`${effort}\``)], rows);
}

/** The word for an effort; without one, what stands for it. */
function effortCell(profile: Profile, effort: string): string {
  const turn = responses.door.readRequest({ model: "m", input: "Hi", reasoning: { effort } });
  const dialect = builtinDialects.get(profile.dialect) ?? chat;
  const { fields, decisions } = writeParams(turn, dialect, profile);
  const said = leaves(fields);
  const word = said.find(([path]) => path === paramPath("effort", dialect.traits));
  const [path = "", value] = word ?? said[0] ?? [];
  const cell = word === undefined ? `${path.replace(".type", "")} ${value}` : `\`${value}\``;
  return (value === undefined ? "upstream decides" : cell) + (decisions.length > 0 ? " *" : "");
}

/** What is otherwise for which models, but for efforts, which have a table of their own. */
function modelTable(): string {
  const rows = provided.flatMap(({ name, models = [] }) =>
    models.flatMap(({ match, effort, ...rest }) => {
      const said = leaves(rest).filter(
        ([path]) => effort === undefined || path !== "params.effort",
      );
      if (said.length === 0) return [];
      const what = said.map(([path, value]) => `\`${path}\` ${value === "null" ? "none" : value}`);
      const globs = [match].flat().map((glob) => `\`${glob}\``);
      return [[`\`${name}\``, globs.join(" "), what.join(", ")]];
    }),
  );
  return table(["profile", "models", "difference"], rows);
}

/** What a group says at the end of each path; lists are one value. */
const leaves = (group: object, at = ""): [path: string, value: string][] =>
  Object.entries(group).flatMap(([key, value]): [string, string][] =>
    isFields(value)
      ? leaves(value, `${at}${key}.`)
      : [[`${at}${key}`, Array.isArray(value) ? value.join(" ") || "text only" : String(value)]],
  );

const rare = Object.keys(openaiOnly).map(
  (name) => `\`${paramPath(name as keyof Params, chat.traits)}\``,
);

/** Fields of a profile, by path. */
const fieldMeanings: Readonly<Record<string, string>> = {
  "tools.kinds":
    "By kind of tool: `native` (sent as it is, or by its template in `tools.builtins`), `degrade` (a function replaces it), `ignore` (left out and reported), `refuse`. `*` is the rule for other kinds.",
  "tools.max": "The largest number of tools.",
  "tools.names.chars": "Characters of tool names, as between brackets of a regular expression.",
  "tools.names.max": "The longest tool name.",
  "tools.names.first": "Characters that a tool name may begin with.",
  "tools.names.reserved": "Names that the upstream reserves; `mcp__*` reserves a prefix.",
  "tools.names.codec":
    "How invalid names are changed: `bend` (default), or `hash`, which marks every changed name.",
  "tools.descriptions": "The longest description of a tool; the rest goes to the instructions.",
  "tools.choice":
    "Accepted forms of `tool_choice`: `auto`, `none`, `required`, `function` (one tool), `allowed` (a list).",
  "tools.parallel": "Whether a message may contain several calls.",
  "tools.declares":
    "`turn`: tools may change in every turn. `thread`: they are fixed at the start of a thread.",
  "tools.deferred": "Whether the upstream loads deferred tools itself.",
  "tools.cached": "Whether the upstream caches prompt prefixes.",
  "tools.written":
    "Whether the model writes calls into its text as `<use_tool>` blocks, which are then read as calls.",
  "tools.namespaces": "Whether tools may be declared in namespaces; otherwise they are flattened.",
  "tools.builtins":
    "By kind: the upstream's own form of a native tool. `$from` copies a value of the client's tool, through `map`, or `else`.",
  "tools.foreign": "The same for tools in the form of another dialect, by dialect and kind.",
  "tools.schema.refs": "Whether `$ref` is accepted; otherwise definitions are inlined.",
  "tools.schema.unions": "Accepted combinations: `anyOf`, `oneOf`, `allOf`.",
  "tools.schema.anyRoot": "Whether parameters may be anything but a plain object.",
  "tools.schema.maps": "Whether objects may have keys that the schema does not name.",
  "tools.schema.optional": "Whether properties may be optional; otherwise they become nullable.",
  "tools.schema.typeLists": "Whether `type` may be a list.",
  "tools.schema.untyped": "Whether a schema may leave its type open.",
  "tools.schema.tuples": "Whether array items may differ by position.",
  "tools.schema.consts": "Whether `const` is accepted; otherwise it becomes an `enum` of one.",
  "tools.schema.mixedEnums": "Whether an `enum` may contain values other than strings.",
  "tools.schema.keywords": "Accepted constraints, such as `minimum`; others go to the description.",
  "tools.schema.formats": "Accepted values of `format`.",
  "tools.schema.keys": "The form of property names, as `tools.names`.",
  "tools.schema.strict": "Whether `strict` may be requested.",
  "tools.schema.draft": "The only accepted draft of JSON Schema.",
  "tools.schema.openApi":
    "Gemini: whether schemas are sent in the form of OpenAPI (`parameters`) instead of JSON Schema.",
  "tools.schema.empty": "Whether an object in the parameters may have no properties.",
  "tools.mixed":
    "Tools that the provider runs beside functions. `false`: not accepted, so functions win; `declared`: the request must announce both.",
  params:
    "By parameter: the upstream's name for it; null: not supported, and the loss is reported.",
  effort:
    "By reasoning effort, `*` for others: the upstream's word (`as`; null: none), further `fields`, and `changed: true` if the effort is substantially different. Without a rule an effort is sent as it is.",
  fields: "Fields of every request, unless the client sets them; null removes one.",
  "route.path": "The path below the base URL, with `{model}` for the model name.",
  "route.stream": "The path of streams; without it, the upstream is asked for whole answers.",
  "route.without": "Fields that requests leave out.",
  bearer: "Whether the key is sent as a bearer token in any dialect.",
  credentials:
    "`google`: without a key, requests carry a token from Google's application default credentials.",
  pauses:
    "Whether the upstream pauses answers while it runs tools; they are continued up to five times.",
  formats: "`text`, `json` (any JSON), `schema` (a schema), `strict` (a schema, always strictly).",
  toolFormats: "The same for requests with tools.",
  "strictSchema.keywords":
    "Keywords of a strict schema; others are left out and checked in the answer.",
  "strictSchema.formats": "Values of `format` of a strict schema.",
  reasoning: "The field in which the upstream expects its earlier reasoning.",
  reasons:
    "Whether models reason without a request for it, so that sealed reasoning can be requested.",
  families: "Model names of the provider; `claude-*` is a prefix.",
  defaultModel: "The model for requests without one.",
  "thinking.forms": "Messages: accepted forms of `thinking`.",
  "thinking.efforts": "Messages: known efforts, lowest first.",
  "thinking.display": "Messages: whether thoughts can be shown.",
  "thinking.leads":
    "Whether a tool loop must begin with its thought (Messages), or with a signed call (Gemini).",
  "thinking.budgets.least": "Gemini: the smallest budget of tokens; budgets replace efforts.",
  "thinking.budgets.most": "Gemini: the largest budget of tokens.",
  "thinking.budgets.off": "Gemini: whether a budget of 0 turns thinking off.",
  maxStops: "The most stop sequences; the gateway ends answers at further ones.",
  maxTokens: "The longest answer in tokens.",
  maxUser: "The longest user name in characters.",
  countsTokens: "Whether the upstream counts the tokens of a request.",
  exclusiveSampling: "Whether only one of temperature and top_p may be set.",
  cacheMark: "Fields that make the upstream cache a prompt, for clients whose dialect has none.",
  streamUsage: "Whether `stream_options.include_usage` is accepted.",
  "history.paired": "Whether every call must be answered directly after its message.",
  "history.interleaved": "Whether text and thoughts may be between the calls of one message.",
  "history.roles": "Accepted roles; other messages get the nearest.",
  "history.lateSystem": "Whether system messages may follow other messages.",
  "history.reminderTag": "The tag that marks a later system message inside a user message.",
  "history.media": "Media of messages.",
  "history.resultMedia": "Media of results.",
  "history.systemMedia": "Media of system messages.",
  "history.empty": "Whether a message may be empty.",
  "history.names": "Whether messages may name their speaker.",
  "history.prefill": "Whether the conversation may end with the beginning of the answer.",
  "history.resultNames": "Whether results must name their tool.",
  "history.reasoningWithCalls": "Replacement for unknown reasoning before calls.",
  "history.behindResults":
    "The model's words that are inserted if only the model may speak after results.",
  "history.beforeCalls": "The user's words that are inserted if a conversation begins with calls.",
  "history.signatures":
    "False: signatures of reasoning are not given back, as if another model had made them.",
  "history.callIds": "Whether calls and results have ids; otherwise they are paired by order.",
  "history.strayResults":
    "`text`: results of unknown calls are sent as text; otherwise they are left out.",
  "history.ids":
    "The form of call ids, as `tools.names`; `exact: true`: all have the length `max`.",
};

type Node = { readonly properties?: Readonly<Record<string, Node>> };

/** Fields whose own groups are explained in one row. */
const whole = new Set(["tools.schema.keys", "history.ids"]);

const pathsOf = (node: Node, at = ""): string[] =>
  Object.entries(node.properties ?? {}).flatMap(([key, member]) =>
    member.properties === undefined || whole.has(`${at}${key}`)
      ? `${at}${key}`
      : pathsOf(member, `${at}${key}.`),
  );

function fieldTable(): string {
  const schema = z.toJSONSchema(capabilitiesSchema, { io: "input", unrepresentable: "any" });
  const paths = pathsOf(schema as Node).filter((path) => path !== "models");
  const rows = described("fields of a profile", paths, fieldMeanings);
  return table(
    ["field", "meaning"],
    rows.map(([path, meaning]) => [code(path), meaning]),
  );
}

const profilesText = (
  tables: Readonly<Record<"matrix" | "efforts" | "models" | "asked" | "said", string>>,
): string => `# Profiles

After this page you know the abilities that Patchbay assumes of each provider, and every field that you can override. \`npm run docs\` makes this page from the profiles.

A profile is data: nothing else in Patchbay depends on the provider. Each is a file in \`src/profiles\`, built on the generic profile of its dialect, with the date and source of its facts. [Adding a provider](../guides/adding-a-provider.md) shows how to choose, change and write one.

## Kinds of tools

**native**: the upstream receives the tool in its own form. **degraded**: a function replaces it, and its calls return in the client's form. **deferred**: offered through a section ([many tools](../guides/many-tools.md)). **ignored**: left out and reported.

${tables.matrix}

## Requests

${tables.asked}

Differences of some models:

${tables.models}

## Reasoning efforts

Upstreams that do not accept every effort receive the nearest word, or a switch for thinking. An asterisk marks a substantially different effort, which is reported, and refused if strict.

${tables.efforts}

## Parameters

Chat servers compatible with OpenAI's have none of ${rare.join(", ")}, unless their profile sets it. Further differences:

${tables.said}

## Fields

\`capabilities\` of an upstream overrides any of these fields, and \`capabilities.models\` overrides them for the models that \`match\`.

${fieldTable()}
`;
