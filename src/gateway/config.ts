import { z } from "zod";
import { builtinDialects, dialectRegistry, type DialectRegistry } from "../dialects/registry.ts";
import { type CountLimits, defaultCounts } from "../dialects/shared/request-counts.ts";
import { Fault } from "../turn/fault.ts";
import type { Problem } from "../diagnostics/problem.ts";
import { isFields } from "../json/json.ts";
import { capabilitiesSchema } from "./capabilities.ts";
import { disclosureSchema } from "./fold/settings.ts";
import type { Dialect } from "../dialects/dialect.ts";
import { apiKey, baseUrlFor, findProblems, headers, keysSchema } from "./config-problems.ts";
import { pricesSchema } from "./run/prices.ts";

const quota = z.int().positive().optional();

/** Limits of one tenant; a field that is left out sets no limit. */
const limitsSchema = z.strictObject({
  requests_per_minute: quota.describe("Turns that start in a minute."),
  tokens_per_minute: quota.describe("Input and output tokens of a minute."),
  concurrent_turns: quota.describe("Running turns."),
  bytes_in_flight: quota.describe(
    "Bytes of the requests of running turns, with the stored items that they refer to.",
  ),
});

export const tenantLimitsSchema = z.strictObject({
  default: limitsSchema.prefault({}),
  tenants: z
    .record(z.string(), limitsSchema)
    .default({})
    .describe("By tenant: limits that replace the default."),
});

export type Limits = z.output<typeof limitsSchema>;
export type LimitsConfig = z.output<typeof tenantLimitsSchema>;

const MEGABYTE = 1024 * 1024;

/** Optional. An empty text counts as left out, since `${NAME:-}` leaves one. */
const maybe = z
  .string()
  .optional()
  .transform((value) => (value === "" ? undefined : value));

const recordingSchema = z.strictObject({
  content: z
    .enum(["masked", "full"])
    .default("masked")
    .describe(
      "`masked`: placeholders of the same size replace texts. `full`: only secrets are masked.",
    ),
  names: z
    .enum(["kept", "masked"])
    .default("kept")
    .describe("`masked`: names of tools are masked too."),
  folder: maybe.describe("Folder of the bundles; default: `recordings` in the state directory."),
  keep: z
    .strictObject({
      turns: z.int().positive().default(200).describe("The most recorded turns."),
      bytes: z
        .int()
        .positive()
        .default(64 * MEGABYTE)
        .describe("The most bytes of recorded turns."),
      hours: z.number().positive().default(24).describe("The greatest age in hours."),
    })
    .prefault({}),
  by_header: z
    .array(z.string().min(1))
    .default([])
    .describe("Tenants whose clients may record a turn with `x-patchbay-record: true`."),
});

export type RecordingSettings = z.output<typeof recordingSchema>;

const text = z.string().min(1);
const count = z.int().nonnegative();

const timeout = (preset: number, description: string) =>
  z.int().positive().default(preset).describe(description);

const timeouts = z.strictObject({
  connect: timeout(10_000, "Time for a connection, or for a request to Codex."),
  queue: timeout(
    30_000,
    "Time that a request waits for a free connection; then it fails with `upstream.busy` or goes to the next upstream.",
  ),
  headers: timeout(300_000, "Time until the answer begins."),
  idle: timeout(300_000, "Longest silence within an answer."),
});

/** Fields of every upstream. */
const common = {
  profile: text
    .optional()
    .describe(
      "[Profile](profiles.md) with its abilities; default: the generic one of its dialect.",
    ),
  capabilities: capabilitiesSchema
    .optional()
    .describe("Differences from the profile ([fields](profiles.md#fields))."),
  models: z.array(text).default([]).describe("Models of an upstream that does not list them."),
};

const httpUpstream = ({ upstreams }: DialectRegistry) =>
  z.strictObject({
    dialect: z.enum(upstreams.map(({ name }) => name)).describe("The upstream's wire language."),
    base_url: baseUrlFor(upstreams).describe(
      "Address without the route, such as `https://api.example.com/v1`.",
    ),
    api_key: apiKey.describe(
      "The upstream's key. Without one, a profile with [`credentials`](profiles.md#fields) uses those.",
    ),
    headers: headers.default({}).describe("Further headers of every request."),
    timeouts: timeouts.prefault({}),
    retries: count
      .max(10)
      .default(2)
      .describe(
        "Retries of a request that failed before its first event (no connection, 429, 5xx).",
      ),
    connections: z.int().positive().default(256).describe("The most turns at once; others wait."),
    ...common,
  });

const codexUpstream = z.strictObject({
  dialect: z.literal("codex").describe("[Codex](../guides/codex.md) as a model."),
  command: text.default("codex").describe("The binary: a path, or a name on PATH."),
  home: text
    .default("./.patchbay/codex")
    .describe(
      "`CODEX_HOME` of the process, a folder for nothing else; `serve` uses the state directory.",
    ),
  processes: z
    .int()
    .positive()
    .max(64)
    .default(1)
    .describe("Child processes; one core serves about 20 turns a second."),
  seats: z
    .int()
    .positive()
    .max(1_000)
    .default(32)
    .describe("The most turns of one process at once."),
  queue: count
    .max(100_000)
    .default(1_000)
    .describe("The most turns that wait for a seat; more are refused with 503."),
  base_url: baseUrlFor(builtinDialects.upstreams)
    .optional()
    .describe("Responses endpoint that Codex calls; default: Codex's own sign-in."),
  api_key: apiKey.describe("Key of that endpoint, passed in its environment."),
  timeouts: timeouts.prefault({}),
  park_ms: count
    .max(3_600_000)
    .default(600_000)
    .describe(
      "Time that a thread waits for the results of its calls; 0: every request starts a new thread.",
    ),
  parked: count
    .max(10_000)
    .default(64)
    .describe("The most waiting threads, about 2.5 MB each in Codex."),
  ...common,
});

const scriptedUpstream = z.strictObject({
  dialect: z.literal("scripted").describe("A [scripted model](../guides/scripted-models.md)."),
  script: z
    .union([text, z.record(z.string(), z.unknown()), z.array(z.unknown())])
    .optional()
    .describe("A file, or the script itself; without it, the demo."),
  ...common,
});

const upstreamSchema = (dialects: DialectRegistry) =>
  z.discriminatedUnion("dialect", [httpUpstream(dialects), codexUpstream, scriptedUpstream]);

const origin = z
  .string()
  .regex(
    /^(?:\*|[a-z][a-z\d+.-]*:\/\/[^/\s]+\/?)$/i,
    "must be an origin such as https://chat.example.com, or `*`",
  )
  .transform((value) => value.toLowerCase().replace(/\/$/, ""));

const mostOf = (preset: number, description: string) =>
  z.int().positive().default(preset).describe(description);

const countsSchema = z.strictObject({
  values: mostOf(defaultCounts.values, "The most JSON values of a request, with stored items."),
  values_each: mostOf(
    defaultCounts.values_each,
    "The most JSON values of one field, or of one entry of a list.",
  ),
  schemas: mostOf(defaultCounts.schemas, "The most JSON values of the list of tools."),
  fields: mostOf(defaultCounts.fields, "The most fields of the body."),
  tools: mostOf(defaultCounts.tools, "The most tools, including those in namespaces."),
  items: mostOf(defaultCounts.items, "The most messages or items."),
  parts: mostOf(defaultCounts.parts, "The most entries of lists within items."),
} satisfies Record<keyof CountLimits, z.ZodType>);

const serverSchema = z.strictObject({
  host: text
    .default("127.0.0.1")
    .describe("Address to listen on. An address other than loopback needs a key."),
  port: count.max(65_535).default(11_435).describe("Port; 0 takes any free one."),
  keys: keysSchema.describe(
    "Keys of clients, each a text or `{ name, key }` ([teams and keys](../guides/teams-and-keys.md)). Without keys any local client may enter.",
  ),
  origins: z
    .array(origin)
    .default([])
    .describe(
      "Origins of pages that may use the gateway in a browser, beside pages of this machine; `*`: any.",
    ),
  body_limit: mostOf(33_554_432, "The largest request body, compressed and decompressed."),
  counts: countsSchema.prefault({}),
  websocket: z
    .boolean()
    .default(true)
    .describe(
      "Serves the Responses API over [WebSockets](../guides/stored-responses.md#websockets) too.",
    ),
  bodies_limit: z
    .int()
    .positive()
    .optional()
    .describe(
      "Bytes of all bodies that are arriving or waiting; default: eight times `body_limit`. A tenant may hold twice what is free.",
    ),
  turns_limit: z
    .int()
    .positive()
    .optional()
    .describe(
      "Estimated memory of all running requests and the data loaded for them; default: half of the heap. A tenant may hold twice what is free.",
    ),
  answer_limit: mostOf(
    16_777_216,
    "The most characters of an answer; a longer one ends with `upstream.too_long`.",
  ),
  stall_timeout_ms: mostOf(60_000, "A client that reads nothing for this time is disconnected."),
  keepalive_ms: count
    .default(15_000)
    .describe(
      "The longest silence of a stream; then a comment, or a `ping` event for Messages clients, is sent. 0: never.",
    ),
  block_budget_ms: mostOf(
    100,
    "Work on one request that blocks the event loop for longer is counted and logged.",
  ),
  shutdown_grace_ms: count.default(25_000).describe("Time that a stop waits for running turns."),
});

const flag = (description: string) => z.boolean().default(false).describe(description);

const toolsSchema = z.strictObject({
  strict: flag("Refuses requests of which anything would be lost."),
  disclosure: disclosureSchema
    .default("fit")
    .describe("When long lists of tools are folded ([many tools](../guides/many-tools.md))."),
  output: z
    .enum(["openai-json", "obsidian-xml"])
    .optional()
    .describe(
      "Form of calls in answers ([several calls](../guides/several-calls.md)); default: as the model gave them.",
    ),
  text_calls: z
    .boolean()
    .optional()
    .describe(
      "Reads `<use_tool>` in a model's text as a call; default: as its profile sets, and with `obsidian-xml`.",
    ),
  block_max: count.default(0).describe("The most calls of a choice; 0: no limit."),
  block_dedup: flag("Removes calls that repeat an earlier one."),
  block_delimiter: z
    .string()
    .default("")
    .describe(
      "Text between two blocks. In the variable, `true` is a blank line and `\\n` and `\\t` are read.",
    ),
  stop_after: flag("Ends a turn after its calls."),
  stop_after_mode: z
    .enum(["burst", "first"])
    .default("burst")
    .describe(
      "`burst`: the turn ends when no more calls follow. `first`: after the first call, which enables stopping.",
    ),
  stop_after_grace_ms: count.default(300).describe("Time that `burst` waits for the next call."),
  suppress_tail: flag("Removes text after the last call."),
  parallel: z
    .union([z.boolean(), z.literal("unrequested")])
    .default(true)
    .describe(
      "`false`: the model is asked for one call, and further calls are withheld. `unrequested` (`false` in the variable): it is asked for one call, and every call is delivered.",
    ),
});

const databaseUrl = text.refine(
  (url) => /^postgres(?:ql)?:$/.test(URL.parse(url)?.protocol ?? ""),
  {
    error: "must be an address such as postgres://user:password@host:5432/database",
  },
);

const retention = {
  max_bytes: z
    .int()
    .positive()
    .optional()
    .describe(
      "Bytes of content; default: 24 MiB in memory, 1 GiB in SQLite, 10 GiB in PostgreSQL.",
    ),
  max_age_days: z.number().positive().optional().describe("Days; default: 30."),
};

const kindOf = <Kind extends string>(kind: Kind) =>
  z
    .literal(kind)
    .describe(
      "`memory`: until a restart. `sqlite`: a file. `postgres`: a server. `off`: nothing is stored.",
    );

const storeSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: kindOf("memory"), ...retention }),
  z.strictObject({
    kind: kindOf("sqlite"),
    path: text
      .default("./.patchbay/patchbay.db")
      .describe("The file; without any `store`, `serve` uses one in the state directory."),
    ...retention,
  }),
  z.strictObject({
    kind: kindOf("postgres"),
    url: databaseUrl.describe("Address of the PostgreSQL server."),
    ...retention,
  }),
  z.strictObject({ kind: kindOf("off") }),
]);

/** A store may be named by its kind alone: `store: off`. */
const withStoreKind = (raw: unknown): unknown =>
  isFields(raw) && typeof raw.store === "string" ? { ...raw, store: { kind: raw.store } } : raw;

const telemetrySchema = z.strictObject({
  usage_log: maybe.describe(
    "File with one line of counts for each turn ([log lines](log-lines.md)).",
  ),
  event_log: maybe.describe("File with one line for each step of a turn."),
  upstream_messages: flag(
    "Logs the message of an upstream that failed, which may quote the request.",
  ),
  recording: z
    .enum(["off", "failures", "all"])
    .default("off")
    .describe("Turns that are [recorded](../guides/recording.md)."),
});

const consoleSchema = z.strictObject({
  keep: count
    .max(20_000)
    .default(2_000)
    .describe(
      "The most finished turns that `top`, `logs` and plans can show, in 16 MB at most; 0: none.",
    ),
});

const upstreamsSchema = (dialects: DialectRegistry) =>
  z.record(z.string(), upstreamSchema(dialects)).default({});

/**
 * The whole configuration. The parsed form is complete and parses to itself, so a library user
 * may pass either form.
 */
export const configSchema = z.strictObject({
  server: serverSchema
    .prefault({})
    .describe("The listening address, its clients, and limits of requests."),
  upstreams: upstreamsSchema(builtinDialects).describe("The model backends, by name."),
  models: z
    .record(
      z.string(),
      z.union([text, z.array(text).min(1)], {
        error: "must be `upstream/model`, or a list of them",
      }),
    )
    .transform((models) =>
      Object.fromEntries(Object.entries(models).map(([name, to]) => [name, [to].flat()])),
    )
    .default({})
    .describe(
      "Names that clients ask for, each with `upstream/model` or a list of these, tried in order. A name with `*` answers for every other name that fits; the longest one that fits counts.",
    ),
  tools: toolsSchema.prefault({}).describe("Rules for tools and their calls."),
  store: storeSchema
    .prefault({ kind: "memory" })
    .describe(
      "Stored data ([the store](../guides/several-processes.md#the-store)). `store: off` is short for `store: { kind: off }`.",
    ),
  telemetry: telemetrySchema.prefault({}).describe("Log files and recording."),
  recording: recordingSchema.prefault({}).describe("[Recorded turns](../guides/recording.md)."),
  prices: pricesSchema.describe(
    "Prices of a million tokens, by `upstream/model` or by a name in `models` ([usage and cost](../guides/teams-and-keys.md#usage-and-cost)).",
  ),
  console: consoleSchema.prefault({}).describe("Views of operators."),
  limits: tenantLimitsSchema
    .prefault({})
    .describe("Limits of tenants ([teams and keys](../guides/teams-and-keys.md#limits))."),
});

export type Config = z.output<typeof configSchema>;
/** A configuration as it may be written: everything has a default. */
export type ConfigInput = Omit<z.input<typeof configSchema>, "store"> & {
  readonly store?: z.input<typeof storeSchema> | "memory" | "sqlite" | "off" | undefined;
};
export type UpstreamConfig = Config["upstreams"][string];
export type HttpUpstreamConfig = z.output<ReturnType<typeof httpUpstream>>;

/** True if an upstream speaks a dialect over HTTP. */
export const isHttpUpstream = (config: UpstreamConfig): config is HttpUpstreamConfig =>
  config.dialect !== codexUpstream.shape.dialect.value &&
  config.dialect !== scriptedUpstream.shape.dialect.value;

/** All values of an upstream's `dialect`. */
const dialectNames = ({ upstreams }: DialectRegistry): readonly string[] => [
  ...upstreams.map(({ name }) => name),
  codexUpstream.shape.dialect.value,
  scriptedUpstream.shape.dialect.value,
];

const schemaFor = (dialects: DialectRegistry): typeof configSchema =>
  dialects === builtinDialects
    ? configSchema
    : configSchema.extend({ upstreams: upstreamsSchema(dialects) });

type Checked =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Extensions that a configuration may name. */
type ConfigExtensions = {
  readonly dialects?: readonly Dialect[] | undefined;
  readonly upstreams?: readonly { readonly name: string }[] | undefined;
};

/** Checks a configuration and finds every problem at once. */
export function checkConfig(raw: unknown, extensions: ConfigExtensions = {}): Checked {
  const dialects =
    extensions.dialects === undefined ? builtinDialects : dialectRegistry(extensions.dialects);
  const given = (extensions.upstreams ?? []).map(({ name }) => name);
  const whole = withStoreKind(given.length === 0 ? withDemo(raw) : raw);
  const schema = schemaFor(dialects);
  const problems = findProblems(whole, schema, { dialectNames: dialectNames(dialects), given });
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, config: schema.parse(whole) };
}

/** Checks a configuration; throws a Fault that lists all problems. */
export function parseConfig(raw: unknown, extensions: ConfigExtensions = {}): Config {
  const checked = checkConfig(raw, extensions);
  if (checked.ok) return checked.config;
  const lines = checked.problems.map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw new Fault("config.invalid", `The configuration has problems:\n${lines.join("\n")}`);
}

/** A configuration without `upstreams` gets the embedded demo. */
function withDemo(raw: unknown): unknown {
  if (!isFields(raw) || "upstreams" in raw) return raw;
  return { models: { "*": "demo/demo" }, ...raw, upstreams: { demo: { dialect: "scripted" } } };
}
