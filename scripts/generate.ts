import { paramPath, writeParams } from "../src/dialects/shared/params.ts";
import { chat } from "../src/dialects/chat/chat.ts";
import { builtinDialects } from "../src/dialects/registry.ts";
import type { DialectTraits } from "../src/turn/dialect-traits.ts";
import { responses } from "../src/dialects/responses/responses.ts";
import type { Verdict } from "../src/tools/plan/plan.ts";
import { toolsetOf } from "../src/tools/plan/toolset.ts";
import { faults } from "../src/turn/fault-table.ts";
import type { Profile } from "../src/turn/profile.ts";
import type { Params } from "../src/turn/turn.ts";
import { isFields } from "../src/json/json.ts";
import { NO_LIMIT, openaiOnly } from "../src/profiles/extend.ts";
import { modelProfile } from "../src/profiles/models.ts";
import { profiles } from "../src/profiles/profiles.ts";

/** `docs/faults.md`, from the one table of faults. */
function faultsPage(): string {
  const rows = Object.entries(faults).map(([code, { status, type, retry, what }]) => [
    `\`${code}\``,
    `${status}`,
    `\`${type}\``,
    retry ? "yes" : "no",
    what,
  ]);
  return `# Faults

Every error body has the shape of the OpenAI API: \`{"error": {"message", "type", "param", "code"}}\`. The message says whose the error is and what to do, and \`param\` names a field of the request as the client wrote it. The code is one of these, or the upstream's own where it sent one. In a stream that has begun, the same error is the terminal event instead. Made from \`src/turn/fault.ts\` by \`npm run docs\`.

${table(["code", "status", "type", "may help to retry", "what it means"], rows)}
`;
}

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

/** What every kind of tool is to every provider; providers that are alike share a column. */
export function supportMatrix(): string {
  const alike = new Map<string, { names: string[]; verdicts: readonly Verdict[] }>();
  for (const profile of provided) {
    const own = verdicts(profile);
    const known = alike.get(own.join());
    if (known === undefined) alike.set(own.join(), { names: [profile.name], verdicts: own });
    else known.names.push(profile.name);
  }
  const columns = [...alike.values()];
  const rows = Object.keys(kinds).map((kind, at) =>
    [`\`${kind}\``].concat(columns.map((column) => column.verdicts[at] ?? "")),
  );
  return table(["kind", ...columns.map(({ names }) => names.join(", "))], rows);
}

/** `docs/profiles.md`, the tables of it from the profiles themselves. */
function profilesPage(): string {
  const asked = provided.map(({ name, dialect, tools, formats, reasoning, history }) => [
    `\`${name}\``,
    dialect,
    tools.max === NO_LIMIT ? "left to it" : `${tools.max}`,
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
      ["profile", "dialect", "tools", "choice", "formats", "reasoning goes back as", "media"],
      asked,
    ),
    said: table(["profile", "sends", "has no"], said),
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
  return (value === undefined ? "left to it" : cell) + (decisions.length > 0 ? " *" : "");
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
  return table(["profile", "models", "otherwise"], rows);
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

const profilesText = (
  tables: Readonly<Record<"matrix" | "efforts" | "models" | "asked" | "said", string>>,
): string =>
  `# Profiles

A profile says what an upstream can do, as data: nothing else in Patchbay knows one provider from another. Each is a file in \`src/upstreams/profiles\`, built on the generic one of its dialect, with the date and the source of its facts and what of it is inferred.

## Choosing one

\`\`\`yaml
upstreams:
  deepseek:
    dialect: chat
    profile: deepseek # left out: generic-chat
    base_url: https://api.deepseek.com/v1
    api_key: \${DEEPSEEK_API_KEY}
\`\`\`

A provider that speaks several dialects goes by one name: \`profile: openai\` with \`dialect: responses\` is \`openai-responses\`. A profile of another dialect than the upstream's is an error. With only a key in the environment the profile is chosen with the rest.

## Changing one

\`capabilities\` overrides any field, for facts that have changed. Groups are merged by key, lists are replaced. What is otherwise for some models stands under \`models\`, behind what the profile itself sets apart; \`match\` is the model's name at the upstream, where \`*\` stands for anything.

\`\`\`yaml
upstreams:
  groq:
    dialect: chat
    profile: groq
    base_url: https://api.groq.com/openai/v1
    api_key: \${GROQ_API_KEY}
    capabilities:
      models:
        - match: [my-vision-*, "*-vl"]
          history: { media: [image] } # these see
        - match: openai/gpt-oss-*
          tools:
            kinds: { web_search: native }
            builtins: { web_search: { type: browser_search } }
  azure:
    dialect: responses
    profile: azure
    base_url: https://NAME.openai.azure.com/openai/v1
    api_key: \${AZURE_OPENAI_API_KEY}
  mimo:
    dialect: chat
    profile: mimo
    base_url: https://api.xiaomimimo.com/v1
    api_key: \${MIMO_API_KEY}
    capabilities:
      tools: { kinds: { web_search: ignore } } # the plugin is not switched on
\`\`\`

## Adding a provider

A provider without a profile needs no code: start from the generic one and say where it differs. \`patchbay plan request.json\` shows what a request then becomes.

\`\`\`yaml
upstreams:
  acme:
    dialect: chat
    profile: generic-chat
    base_url: https://llm.acme.example/v1
    api_key: \${ACME_API_KEY}
    capabilities:
      tools:
        max: 20
        names: { chars: "a-z_", max: 32 }
        kinds: { web_search: native }
        builtins:
          web_search: { type: acme_search, depth: { $from: search_context_size, else: medium } }
        choice: [auto, none]
      params: { maxTokens: max_new_tokens, user: null } # another word; none
      formats: [text, json]
      reasoning: none
      fields: { split_thoughts: true } # in every request
      effort: # how a reasoning effort is told
        none: { as: null, fields: { think: false } }
        xhigh: { as: high, changed: true } # reported, and refused under strictness
\`\`\`

Claude on Vertex and on Bedrock, whose paths name the model and whose requests name the version:

\`\`\`yaml
upstreams:
  vertex:
    dialect: messages
    profile: anthropic-vertex
    base_url: https://us-east5-aiplatform.googleapis.com/v1/projects/PROJECT/locations/us-east5/publishers/anthropic
    api_key: \${VERTEX_TOKEN} # an access token
  bedrock:
    dialect: messages
    profile: anthropic-bedrock # asked for whole answers: AWS frames its streams in its own way
    base_url: https://bedrock-runtime.us-east-1.amazonaws.com
    api_key: \${AWS_BEARER_TOKEN_BEDROCK}
  kimi:
    dialect: messages # the other form of the same provider: \`moonshot\` is \`moonshot-messages\` here
    profile: moonshot
    base_url: https://api.moonshot.ai/anthropic/v1
    api_key: \${MOONSHOT_API_KEY}
\`\`\`

Without a key of Bedrock's own, whoever embeds the gateway signs: \`createGateway(config, { sign: { bedrock: async ({ method, url, headers, body }) => signatureHeaders } })\`.

## Reading one

| field | what it says |
| --- | --- |
| \`tools.kinds\` | by kind: \`native\` (sent as it is, or by its template in \`tools.builtins\`), \`degrade\` (a function stands in), \`ignore\` (left out and reported), \`refuse\`; \`*\` for the rest |
| \`tools.builtins\` | how a native kind is written where the provider has its own form; \`$from\` is what the client said at a path, through \`map\`, or \`else\` |
| \`tools.max\`, \`tools.names\` | how many tools, and what their names may be: \`chars\`, \`max\`, \`first\`, \`reserved\` |
| \`tools.descriptions\` | how many characters the description of a tool may have; what is beyond is told with the instructions |
| \`tools.choice\` | the forms of \`tool_choice\` it takes: \`auto\`, \`none\`, \`required\`, \`function\` (one tool), \`allowed\` (a list) |
| \`tools.parallel\` | whether a message may make several calls |
| \`tools.schema\` | the part of JSON Schema it takes; what is not said is taken |
| \`tools.declares\`, \`tools.deferred\`, \`tools.cached\` | whether tools may change with every turn, whether it loads deferred ones itself, and whether it caches prompts: by these three, long lists of tools are [folded](disclosure.md) |
| \`tools.namespaces\` | whether tools may be declared in namespaces; without it they are flattened |
| \`tools.written\` | whether the model writes calls into its text as \`<use_tool>\` blocks, which are then read as calls |
| \`history\` | what it asks of a conversation: calls answered at once (\`paired\`), whether words and thoughts may stand among them (\`interleaved\`), \`roles\`, \`lateSystem\`, \`media\`, \`resultMedia\`, \`systemMedia\`, \`empty\`, \`ids\`; whether messages may name who speaks (\`names\`) and results must name their tool (\`resultNames\`); what stands for the reasoning before calls where none is known (\`reasoningWithCalls\`), and what the model is taken to have said where only it may speak behind results (\`behindResults\`), or the user where a conversation begins with calls (\`beforeCalls\`) |
| \`params\` | what it calls a parameter; null: it has none, and the loss is reported |
| \`effort\` | by reasoning effort, \`*\` for the rest: its word for it (\`as\`, null: none), \`fields\` that say it besides, and whether it is materially another (\`changed\`); without a rule an effort is told as it is |
| \`fields\` | what every request says unless the client says it itself; null: not |
| \`formats\` | \`text\`, \`json\` (any JSON), \`schema\` (to a schema), \`strict\` (to a schema, always strictly) |
| \`strictSchema\` | the keywords and values of \`format\` that a strict schema may have: objects are closed, other keywords left out and answers checked for them; a schema that cannot be closed is told in words |
| \`thinking\` | for Messages: the \`forms\` of \`thinking\` it takes, the \`efforts\` it knows, whether thoughts can be shown (\`display\`), and whether a tool loop must begin with its thought (\`leads\`) |
| \`maxTokens\`, \`maxUser\` | the longest answer, in tokens, and the longest name of a user, in characters |
| \`exclusiveSampling\` | whether only one of temperature and top_p may be said |
| \`route\`, \`bearer\` | where a service that hosts the models of another is asked: its \`path\` and that for \`stream\`s, with \`{model}\` in it, and the fields that a request is sent \`without\`; whether a key goes as a bearer token |
| \`reasons\` | whether models reason also where a request does not say how much, so that a Responses upstream can be asked for sealed reasoning |
| \`pauses\` | whether it pauses answers in which it runs tools; they are taken up again, five times at most |
| \`cacheMark\` | what has it cache a prompt, sent for clients whose dialect has no word for that |
| \`reasoning\` | the field in which it wants its past reasoning back |
| \`streamUsage\` | whether \`stream_options.include_usage\` may be asked for |
| \`models\` | what is otherwise for the models that \`match\`: any of these fields; the later count before the earlier |

## What becomes of each kind of tool

${tables.matrix}

## What each takes

${tables.asked}

Some models differ from the rest of their provider:

${tables.models}

## Reasoning efforts

What is told for each effort, by profiles that do not take every word for it as it is: the nearest word, or what switches thinking. An asterisk: it is materially another, which is reported, and refused under strictness.

${tables.efforts}

## Parameters

Servers compatible with OpenAI's chat have none of ${rare.join(", ")}, but for those whose file says otherwise. Beyond these:

${tables.said}

The tables are made from the profiles by \`npm run docs\`.
`;

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");

/** The README with its matrix made anew. */
const readme = (now: string): string =>
  now.replace(
    /(<!-- matrix -->\n)[\s\S]*(<!-- \/matrix -->)/,
    (_, open: string, close: string) => `${open}\n${supportMatrix()}\n\n${close}`,
  );

/** The pages made from data, by path from the root; each may be told what it says now. */
export const pages: Readonly<Record<string, (now: string) => string>> = {
  "docs/faults.md": faultsPage,
  "docs/profiles.md": profilesPage,
  "README.md": readme,
};
