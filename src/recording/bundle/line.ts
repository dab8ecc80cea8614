import { z } from "zod";

/** What this version writes; a reader of it reads no other. */
export const BUNDLE_VERSION = 1;

const at = z.number();
const fields = z.record(z.string(), z.string());
const bytes = {
  at,
  /** As text where the bytes are whole characters, else in base64. */
  text: z.string().optional(),
  base64: z.string().optional(),
};
const nth = z.int().positive();

const settingsLine = z.object({
  line: z.literal("settings"),
  /** What the client asked for -> where that was to be had, as `upstream/model`. */
  models: z.record(z.string(), z.array(z.string())),
  /** Of the upstreams that might be asked: all that is no address and no key. */
  upstreams: z.record(z.string(), z.record(z.string(), z.unknown())),
  tools: z.record(z.string(), z.unknown()),
});

/** A line of a bundle. Times are milliseconds since the request came. */
export const bundleLine = z.discriminatedUnion("line", [
  z.object({
    line: z.literal("bundle"),
    version: z.int(),
    id: z.string(),
    gateway: z.string(),
    node: z.string(),
    platform: z.string(),
    recorded: z.string(),
    content: z.enum(["masked", "full"]),
    names: z.enum(["kept", "masked"]),
    /** What was not written, such as the names of headers. */
    left_out: z.array(z.string()),
  }),
  settingsLine,
  z.object({
    line: z.literal("client-request"),
    at,
    method: z.string(),
    path: z.string(),
    headers: fields,
    /** A message on a WebSocket. */
    socket: z.boolean().optional(),
    body: z.string(),
  }),
  z.looseObject({ line: z.literal("plan"), plan: z.record(z.string(), z.unknown()) }),
  z.object({
    line: z.literal("upstream-request"),
    at,
    try: nth,
    upstream: z.string(),
    method: z.string(),
    path: z.string(),
    headers: fields,
    body: z.string(),
  }),
  z.object({
    line: z.literal("upstream-head"),
    at,
    try: nth,
    status: z.int(),
    headers: fields,
  }),
  z.object({ line: z.literal("upstream-bytes"), try: nth, ...bytes }),
  z.object({ line: z.literal("upstream-end"), at, try: nth, error: z.string().optional() }),
  z.object({
    line: z.literal("upstream-answer"),
    at,
    try: nth,
    upstream: z.string(),
  }),
  z.object({
    line: z.literal("upstream-message"),
    at,
    try: nth,
    direction: z.enum(["sent", "received"]),
    message: z.unknown(),
  }),
  z.object({
    line: z.literal("upstream-event"),
    at,
    try: nth,
    event: z.looseObject({ type: z.string() }),
  }),
  z.object({
    line: z.literal("client-head"),
    at,
    /** How many chunks, messages or events of upstreams had been read by then. */
    after: z.int(),
    status: z.int(),
    headers: fields,
  }),
  z.object({ line: z.literal("client-bytes"), after: z.int(), ...bytes }),
  z.object({ line: z.literal("client-end"), at, after: z.int(), left: z.boolean().optional() }),
  z.object({ line: z.literal("done"), done: z.record(z.string(), z.unknown()) }),
  z.object({ line: z.literal("seal"), lines: z.int(), sha256: z.string() }),
  /** Added by hand behind the seal: what a test holds the bundle to. */
  z.object({
    line: z.literal("expect"),
    outcome: z.string().optional(),
    /** Whose fault `explain` finds. */
    fault: z.enum(["none", "client", "gateway", "upstream"]).optional(),
    /** Texts that the client must have been sent. */
    shown: z.array(z.string()).optional(),
  }),
]);

export type BundleLine = z.output<typeof bundleLine>;
export type Settings = Omit<z.output<typeof settingsLine>, "line">;
export type LineOf<Type extends BundleLine["line"]> = Extract<BundleLine, { readonly line: Type }>;
