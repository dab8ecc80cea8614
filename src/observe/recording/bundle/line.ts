import { z } from "zod";
import { bundleEvent } from "./event.ts";

/** What this version writes; a reader of it reads no other. */
export const BUNDLE_VERSION = 1;

// A bundle may come from anyone: only what is named here is read of it, and none of that is the
// name of a program, a file or an address.

const text = z.string();
/** No turn takes longer than a week, and no reader has to wait for what says so. */
const at = z
  .number()
  .min(0)
  .max(7 * 24 * 3_600_000);
const nth = z.int().positive();
const status = z.int().min(100).max(999);
/** How many chunks, messages or events of upstreams had been read by then. */
const after = z.int().min(0);
/** Below an address that is not in the bundle. */
const path = text.startsWith("/");

/** Headers that say what is asked for or came; all others are named and not written. */
export const isBundleHeader = (name: string): boolean =>
  /^(?:content-type|content-encoding|accept|user-agent|retry-after(?:-ms)?|x-should-retry|x-patchbay-(?!record)[\w-]*|anthropic-(?:version|beta)|openai-(?:beta|processing-ms)|x-ratelimit-[\w-]*|anthropic-ratelimit-[\w-]*)$/.test(
    name,
  );
const headers = z.record(text.refine(isBundleHeader, "is no header of a bundle"), text);

const bytes = {
  at,
  /** As text where the bytes are whole characters, else in base64. */
  text: text.optional(),
  base64: text.optional(),
};

const upstreamSettings = z.strictObject({
  dialect: text.optional(),
  profile: text.optional(),
  capabilities: z.record(text, z.unknown()).optional(),
  retries: z.int().min(0).max(10).optional(),
  /** None where the upstream speaks no HTTP. */
  base_path: path.optional(),
});

const settingsLine = z.strictObject({
  line: z.literal("settings"),
  /** What the client asked for -> where that was to be had, as `upstream/model`. */
  models: z.record(text, z.array(text)),
  /** Of the upstreams that might be asked: all that is no address, no key, no program and no file. */
  upstreams: z.record(text, upstreamSettings),
  tools: z.record(text, z.unknown()),
});

const rows = <Shape extends z.ZodRawShape>(shape: Shape) => z.array(z.object(shape)).readonly();

/** Of the plan: what `explain` tells. */
const plan = z.object({
  upstream: text,
  profile: text,
  straight: z.boolean(),
  tools: rows({
    path: text,
    name: text,
    verdict: text,
    upstream_name: text.nullish(),
    reason: text,
  }),
  rules: rows({ path: text, value: z.union([text, z.number(), z.boolean()]), reason: text }),
  decisions: rows({ path: text, action: text, reason: text }),
});

/** Of the account of the turn. */
const done = z.object({
  door: text,
  model: text,
  outcome: text,
  fault: text.optional(),
  rounds: z.int().min(0),
  calls: z.object({ given: z.int().min(0) }),
  stops: z.array(text).readonly(),
});

/** A line of a bundle. Times are milliseconds since the request came. */
export const bundleLine = z.discriminatedUnion("line", [
  z.strictObject({
    line: z.literal("bundle"),
    version: z.int(),
    id: text.max(300),
    gateway: text,
    node: text,
    platform: text,
    recorded: z.iso.datetime(),
    content: z.enum(["masked", "full"]),
    names: z.enum(["kept", "masked"]),
    /** What was not written, such as the names of headers. */
    left_out: z.array(text),
  }),
  settingsLine,
  z.strictObject({
    line: z.literal("client-request"),
    at,
    method: text.regex(/^[A-Z]{3,10}$/, "must be a method"),
    path,
    headers,
    /** A message on a WebSocket. */
    socket: z.boolean().optional(),
    body: text,
  }),
  z.strictObject({ line: z.literal("plan"), plan }),
  z.strictObject({
    line: z.literal("upstream-request"),
    at,
    try: nth,
    upstream: text,
    method: text,
    path: text,
    headers,
    body: text,
  }),
  z.strictObject({ line: z.literal("upstream-head"), at, try: nth, status, headers }),
  z.strictObject({ line: z.literal("upstream-bytes"), try: nth, ...bytes }),
  z.strictObject({ line: z.literal("upstream-end"), at, try: nth, error: text.optional() }),
  z.strictObject({ line: z.literal("upstream-answer"), at, try: nth, upstream: text }),
  z.strictObject({
    line: z.literal("upstream-message"),
    at,
    try: nth,
    direction: z.enum(["sent", "received"]),
    message: z.unknown(),
  }),
  z.strictObject({ line: z.literal("upstream-event"), at, try: nth, event: bundleEvent }),
  z.strictObject({ line: z.literal("client-head"), at, after, status, headers }),
  z.strictObject({ line: z.literal("client-bytes"), after, ...bytes }),
  z.strictObject({ line: z.literal("client-end"), at, after, left: z.boolean().optional() }),
  z.strictObject({ line: z.literal("done"), done }),
  z.strictObject({ line: z.literal("seal"), lines: z.int(), sha256: text }),
  /** Added by hand behind the seal: what a test holds the bundle to. */
  z.strictObject({
    line: z.literal("expect"),
    outcome: text.optional(),
    /** Whose fault `explain` finds. */
    fault: z.enum(["none", "client", "gateway", "upstream"]).optional(),
    /** Texts that the client must have been sent. */
    shown: z.array(text).optional(),
  }),
]);

export type BundleLine = z.output<typeof bundleLine>;
export type Settings = Omit<z.output<typeof settingsLine>, "line">;
export type LineOf<Type extends BundleLine["line"]> = Extract<BundleLine, { readonly line: Type }>;
