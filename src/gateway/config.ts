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
  requests_per_minute: quota,
  /** Input and output tokens together. */
  tokens_per_minute: quota,
  concurrent_turns: quota,
  /** Bytes of the requests of all turns under way, including the stored items they refer to. */
  bytes_in_flight: quota,
});

/** `limits`: the default for every tenant, and other limits for named tenants. */
export const tenantLimitsSchema = z.strictObject({
  default: limitsSchema.prefault({}),
  tenants: z.record(z.string(), limitsSchema).default({}),
});

export type Limits = z.output<typeof limitsSchema>;
export type LimitsConfig = z.output<typeof tenantLimitsSchema>;

const MEGABYTE = 1024 * 1024;

/** `recording`: content, folder and retention of recorded turns. */
const recordingSchema = z.strictObject({
  /** `masked`: placeholders of the same size replace texts. `full`: only secrets are masked. */
  content: z.enum(["masked", "full"]).default("masked"),
  /** Also masks the names of tools. */
  names: z.enum(["kept", "masked"]).default("kept"),
  /** Folder of the bundles; default: `recordings` in the user's state directory. */
  folder: z
    .string()
    .optional()
    .transform((value) => (value === "" ? undefined : value)),
  keep: z
    .strictObject({
      turns: z.int().positive().default(200),
      bytes: z
        .int()
        .positive()
        .default(64 * MEGABYTE),
      hours: z.number().positive().default(24),
    })
    .prefault({}),
  /** The tenants whose clients may ask for a record with `x-patchbay-record: true`. */
  by_header: z.array(z.string().min(1)).default([]),
});

export type RecordingSettings = z.output<typeof recordingSchema>;

const text = z.string().min(1);
const count = z.int().nonnegative();
/** Optional. An empty text counts as left out, since `${NAME:-}` leaves one. */
const maybe = z
  .string()
  .optional()
  .transform((value) => (value === "" ? undefined : value));

/** Fields of every upstream. */
const common = {
  /** A named capability profile; default: the generic one of the dialect. */
  profile: text.optional(),
  capabilities: capabilitiesSchema.optional(),
  /** Models of an upstream that does not list them itself. */
  models: z.array(text).default([]),
};

const timeouts = z.strictObject({
  /** Milliseconds, like the others. */
  connect: z.int().positive().default(10_000),
  queue: z.int().positive().default(30_000),
  headers: z.int().positive().default(300_000),
  idle: z.int().positive().default(300_000),
});

const httpUpstream = ({ upstreams }: DialectRegistry) =>
  z.strictObject({
    dialect: z.enum(upstreams.map(({ name }) => name)),
    base_url: baseUrlFor(upstreams),
    api_key: apiKey,
    headers: headers.default({}),
    timeouts: timeouts.prefault({}),
    /** Retries of a request that failed before its first event. */
    retries: count.max(10).default(2),
    /** The most connections at once. */
    connections: z.int().positive().default(256),
    ...common,
  });

const codexUpstream = z.strictObject({
  dialect: z.literal("codex"),
  /** The binary; default: `codex` on PATH. */
  command: text.default("codex"),
  /** The child's CODEX_HOME. */
  home: text.default("./.patchbay/codex"),
  processes: z.int().positive().max(64).default(1),
  /** The most turns of one process at once; far fewer keep a core busy. */
  seats: z.int().positive().max(1_000).default(32),
  /** The most turns that wait for a seat; more are refused. */
  queue: count.max(100_000).default(1_000),
  /** Address of the model that Codex uses; default: its own sign-in. */
  base_url: baseUrlFor(builtinDialects.upstreams).optional(),
  api_key: apiKey,
  timeouts: timeouts.prefault({}),
  /** Milliseconds for which a thread waits for the results of its calls; 0: every request starts a new one. */
  park_ms: count.max(3_600_000).default(600_000),
  /** The most threads that wait; each takes a few megabytes. */
  parked: count.max(10_000).default(64),
  ...common,
});

const scriptedUpstream = z.strictObject({
  dialect: z.literal("scripted"),
  /** A file, or the script itself; left out: the demo. */
  script: z.union([text, z.record(z.string(), z.unknown()), z.array(z.unknown())]).optional(),
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

const positive = z.int().positive();
const countsSchema = z.strictObject({
  values: positive.default(defaultCounts.values),
  values_each: positive.default(defaultCounts.values_each),
  schemas: positive.default(defaultCounts.schemas),
  fields: positive.default(defaultCounts.fields),
  tools: positive.default(defaultCounts.tools),
  items: positive.default(defaultCounts.items),
  parts: positive.default(defaultCounts.parts),
} satisfies Record<keyof CountLimits, z.ZodType>);

const serverSchema = z.strictObject({
  host: text.default("127.0.0.1"),
  port: count.max(65_535).default(11_435),
  /** Keys of clients. Without keys any client may enter, and the gateway only binds loopback. */
  keys: keysSchema,
  /** Origins of pages that may use it in a browser, beside pages of this machine; `*`: any page. */
  origins: z.array(origin).default([]),
  /** Bytes. */
  body_limit: z.int().positive().default(33_554_432),
  /** The most parts of each kind in a request body. */
  counts: countsSchema.prefault({}),
  /** Also serves the Responses API over WebSockets. */
  websocket: z.boolean().default(true),
  /** Bytes of all bodies that are arriving or being unpacked; without it, eight times `body_limit`. */
  bodies_limit: z.int().positive().optional(),
  /** Bytes of memory that the requests of turns under way may hold, as estimated; without it, half of the heap. */
  turns_limit: z.int().positive().optional(),
  /** The most characters of an answer. */
  answer_limit: z.int().positive().default(16_777_216),
  /** Milliseconds after which a client that reads nothing of a waiting answer is cut off. */
  stall_timeout_ms: z.int().positive().default(60_000),
  /** Milliseconds of silence after which a keep-alive is written to a stream; 0: never. */
  keepalive_ms: count.default(15_000),
  /** Work on one request that holds the event loop for more milliseconds is counted and logged. */
  block_budget_ms: z.int().positive().default(100),
  /** Milliseconds for which a stop waits for the turns under way. */
  shutdown_grace_ms: count.default(25_000),
});

const toolsSchema = z.strictObject({
  strict: z.boolean().default(false),
  /** Strategy for long lists of tools. */
  disclosure: disclosureSchema.default("fit"),
  /** Form of calls in answers; left out: as the model gave them. */
  output: z.enum(["openai-json", "obsidian-xml"]).optional(),
  /** Treats `<use_tool>` in a model's text as a call; left out: as its profile says. */
  text_calls: z.boolean().optional(),
  block_max: count.default(0),
  block_dedup: z.boolean().default(false),
  block_delimiter: z.string().default(""),
  stop_after: z.boolean().default(false),
  stop_after_mode: z.enum(["burst", "first"]).default("burst"),
  stop_after_grace_ms: count.default(300),
  suppress_tail: z.boolean().default(false),
  parallel: z.union([z.boolean(), z.literal("unrequested")]).default(true),
});

const databaseUrl = text.refine(
  (url) => /^postgres(?:ql)?:$/.test(URL.parse(url)?.protocol ?? ""),
  {
    error: "must be an address such as postgres://user:password@host:5432/database",
  },
);

const retention = {
  /** Bytes; the default depends on the kind. */
  max_bytes: z.int().positive().optional(),
  max_age_days: z.number().positive().optional(),
};

const storeSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("memory"), ...retention }),
  z.strictObject({
    kind: z.literal("sqlite"),
    path: text.default("./.patchbay/patchbay.db"),
    ...retention,
  }),
  z.strictObject({ kind: z.literal("postgres"), url: databaseUrl, ...retention }),
  z.strictObject({ kind: z.literal("off") }),
]);

/** A store may be named by its kind alone: `store: off`. */
const withStoreKind = (raw: unknown): unknown =>
  isFields(raw) && typeof raw.store === "string" ? { ...raw, store: { kind: raw.store } } : raw;

const telemetrySchema = z.strictObject({
  /** A file with one NDJSON line of token counts for each turn. */
  usage_log: maybe,
  /** A file with one NDJSON line for each event of a turn. */
  event_log: maybe,
  /** Logs the message of an upstream that failed, and not only its code. The message may quote the request. */
  upstream_messages: z.boolean().default(false),
  /** Turns that are recorded: each in its own file, with the bytes of both sides. */
  recording: z.enum(["off", "failures", "all"]).default("off"),
});

const consoleSchema = z.strictObject({
  /** The most finished turns that are kept for operators; 0: none. They take 16 MB at most. */
  keep: count.max(20_000).default(2_000),
});

const upstreamsSchema = (dialects: DialectRegistry) =>
  z.record(z.string(), upstreamSchema(dialects)).default({});

/**
 * The whole configuration. The parsed form is complete and parses to itself, so a library user
 * may pass either form.
 */
export const configSchema = z.strictObject({
  server: serverSchema.prefault({}),
  upstreams: upstreamsSchema(builtinDialects),
  /** Names that clients ask for -> `upstream/model`, tried in order. */
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
    .default({}),
  tools: toolsSchema.prefault({}),
  store: storeSchema.prefault({ kind: "memory" }),
  telemetry: telemetrySchema.prefault({}),
  /** Settings of recorded turns. */
  recording: recordingSchema.prefault({}),
  /** Prices of tokens, by `upstream/model` or by a name in `models`. */
  prices: pricesSchema,
  /** Settings of the operators' console. */
  console: consoleSchema.prefault({}),
  /** Limits of tenants by the minute and at once. */
  limits: tenantLimitsSchema.prefault({}),
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
