/** Bundles: the lines of a recorded turn, and their reader. */

import { hash } from "node:crypto";
import { z } from "zod";
import { isWithin, jsonOf } from "../../json/json.ts";
import { Fault } from "../../turn/fault.ts";
import { fields } from "../fields.ts";

/** The version of the format; other versions are refused. */
export const BUNDLE_VERSION = 1;

// A bundle may come from an unknown sender: a line with any other field is refused, and no field names a
// program, a file or an address.

const text = z.string();
/** Times up to a week: a paced replay must not wait longer. */
const at = z
  .number()
  .min(0)
  .max(7 * 24 * 3_600_000);
const nth = z.int().positive();
const status = z.int().min(100).max(999);
/** The number of chunks, messages or events of upstreams that had been read. */
const after = z.int().min(0);
/** The path below an address that is not in the bundle. */
const path = text.startsWith("/");

/** Headers that are written; all others are only named. */
export const isBundleHeader = (name: string): boolean =>
  /^(?:content-type|content-encoding|accept|user-agent|retry-after(?:-ms)?|x-should-retry|x-patchbay-(?!record)[\w-]*|anthropic-(?:version|beta)|openai-(?:beta|processing-ms)|x-ratelimit-[\w-]*|anthropic-ratelimit-[\w-]*)$/.test(
    name,
  );
const headers = z.record(text.refine(isBundleHeader, "is not a header of a bundle"), text);

const bytes = {
  at,
  /** The bytes as text if they are whole characters, else in base64. */
  text: text.optional(),
  base64: text.optional(),
};

/** The number of a choice, call or part from 0. No model gives more of them. */
const choice = z.int().min(0).max(9_999);
const count = z.number().min(0);
const anyFields = z.record(text, z.unknown());
const unknowns = z.array(z.unknown()).optional();
const extra = z
  .strictObject({ dialect: text, fields: anyFields, hints: anyFields.optional() })
  .optional();
const id = text.optional();
const complete = z.boolean().optional();
const dialect = text;

const usage = z.strictObject({
  ...fields(count, "input", "output", "total"),
  ...fields(count.optional(), "cached", "cacheWrite", "reasoning"),
  extra,
});

const event = <Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape) =>
  z.strictObject({ type: z.literal(type), ...shape });
const item = { choice, item: choice, dialect, raw: anyFields };

/** Each `TurnEvent` except frames, which only HTTP upstreams have. */
const bundleEvent = z.discriminatedUnion("type", [
  event("turn-start", {
    ...fields(id, "dialect", "id", "model"),
    created: z.number().optional(),
    extra: anyFields.optional(),
  }),
  event("text-start", { choice, id, phase: id }),
  event("text-break", { choice }),
  event("text-delta", { choice, text, logprobs: unknowns }),
  event("text-note", { choice, annotation: z.unknown() }),
  event("text-end", { choice, complete, extra }),
  event("refusal-delta", { choice, text }),
  event("reasoning-start", { choice, id }),
  event("reasoning-delta", { choice, text, of: z.enum(["content", "summary"]), part: choice }),
  event("reasoning-end", { choice, encrypted: id, details: unknowns, complete, extra }),
  event("vendor-extra", {
    choice,
    of: z.enum(["message", "reasoning", "choice", "answer"]),
    extra: extra.unwrap(),
  }),
  event("call-start", {
    ...fields(choice, "choice", "call"),
    ...fields(text, "id", "kind", "name"),
    ...fields(id, "namespace", "itemId"),
    extra,
  }),
  event("call-delta", { choice, call: choice, text }),
  event("call-end", { choice, call: choice, complete: z.boolean() }),
  event("item-start", item),
  event("item-note", item),
  event("item-end", item),
  event("usage", { usage }),
  event("turn-end", {
    choice,
    stop: z.enum(["end", "calls", "length", "filter", "pause"]),
    extra,
  }),
  // A fault is written as its code and message.
  event("turn-fail", { fault: z.strictObject({ code: text, message: text }) }),
]);

const upstreamSettings = z.strictObject({
  dialect: text.optional(),
  profile: text.optional(),
  capabilities: z.record(text, z.unknown()).optional(),
  retries: z.int().min(0).max(10).optional(),
  /** Left out for an upstream without HTTP. */
  base_path: path.optional(),
});

const settingsLine = z.strictObject({
  line: z.literal("settings"),
  /** The chain of the model that the client asked for, as `upstream/model`. */
  models: z.record(text, z.array(text)),
  /** Settings of the upstreams of the chain, without addresses, keys, programs and files. */
  upstreams: z.record(text, upstreamSettings),
  tools: z.record(text, z.unknown()),
});

const rows = <Shape extends z.ZodRawShape>(shape: Shape) => z.array(z.object(shape)).readonly();

/** The fields of a plan that `explain` shows. */
const plan = z.object({
  ...fields(text, "upstream", "profile"),
  straight: z.boolean(),
  tools: rows({
    ...fields(text, "path", "name", "verdict", "reason"),
    upstream_name: text.nullish(),
  }),
  rules: rows({
    ...fields(text, "path", "reason"),
    value: z.union([text, z.number(), z.boolean()]),
  }),
  decisions: rows(fields(text, "path", "action", "reason")),
});

/** The fields of a turn's account that are read. */
const done = z.object({
  ...fields(text, "door", "model", "outcome"),
  fault: text.optional(),
  stream: z.boolean().optional(),
  rounds: z.int().min(0),
  calls: z.object({ given: z.int().min(0) }),
  stops: z.array(text).readonly(),
});

/** A line of a bundle. Times are milliseconds since the arrival of the request. */
export const bundleLine = z.discriminatedUnion("line", [
  z.strictObject({
    line: z.literal("bundle"),
    version: z.int(),
    id: text.max(300),
    ...fields(text, "gateway", "node", "platform"),
    recorded: z.iso.datetime(),
    content: z.enum(["masked", "full"]),
    names: z.enum(["kept", "masked"]),
    /** The names of headers that were not written. */
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
    ...fields(text, "upstream", "method", "path", "body"),
    headers,
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
  /** Added by hand after the seal: the expectations of a test. */
  z.strictObject({
    line: z.literal("expect"),
    outcome: text.optional(),
    /** The side at fault by `explain`. */
    fault: z.enum(["none", "client", "gateway", "upstream"]).optional(),
    /** Texts that the client must receive. */
    shown: z.array(text).optional(),
  }),
]);

export type BundleLine = z.output<typeof bundleLine>;
export type Settings = Omit<z.output<typeof settingsLine>, "line">;
export type LineOf<Type extends BundleLine["line"]> = Extract<BundleLine, { readonly line: Type }>;

/** Bytes of a stream, with the time of their arrival. */
export type Chunk = { readonly at: number; readonly bytes: Buffer };

/** One call to an upstream. */
export type BundleTry = {
  readonly nth: number;
  readonly at: number;
  readonly upstream: string;
  /** Left out for an upstream without HTTP. */
  readonly request?: LineOf<"upstream-request"> | undefined;
  readonly head?: LineOf<"upstream-head"> | undefined;
  readonly chunks: readonly Chunk[];
  readonly events: readonly LineOf<"upstream-event">[];
  readonly end?: LineOf<"upstream-end"> | undefined;
};

export type Bundle = {
  readonly head: LineOf<"bundle">;
  readonly settings: LineOf<"settings">;
  readonly request: LineOf<"client-request">;
  readonly tries: readonly BundleTry[];
  readonly reply: {
    readonly head?: LineOf<"client-head"> | undefined;
    readonly chunks: readonly (Chunk & { readonly after: number })[];
    readonly end?: LineOf<"client-end"> | undefined;
  };
  readonly plan?: LineOf<"plan">["plan"] | undefined;
  readonly done?: LineOf<"done">["done"] | undefined;
  readonly expect?: LineOf<"expect"> | undefined;
};

/** Throws a Fault whose text names the problem and the remedy. */
export function readBundle(text: string): Bundle {
  const lines = checkedLines(text);
  const first = finder(lines);
  const [head, settings, request] = [first("bundle"), first("settings"), first("client-request")];
  if (head === undefined || settings === undefined || request === undefined)
    throw bad("lacks its first lines; copy the whole file again, or record the turn again");
  const chunks = lines.flatMap((line) =>
    line.line === "client-bytes" ? [{ at: line.at, after: line.after, bytes: bytesIn(line) }] : [],
  );
  return {
    head,
    settings,
    request,
    tries: triesIn(lines),
    reply: { head: first("client-head"), chunks, end: first("client-end") },
    plan: first("plan")?.plan,
    done: first("done")?.done,
    expect: first("expect"),
  };
}

const finder =
  (lines: readonly BundleLine[]) =>
  <Type extends BundleLine["line"]>(type: Type): LineOf<Type> | undefined =>
    lines.find((line): line is LineOf<Type> => line.line === type);

function checkedLines(text: string): readonly BundleLine[] {
  const rows = text.split("\n");
  if (rows.at(-1) === "") rows.pop();
  const head = jsonOf(rows[0] ?? "");
  if (typeof head !== "object" || head === null || !("line" in head) || head.line !== "bundle")
    throw bad("does not begin with the first line of a bundle; name a .bundle.jsonl file");
  const version = "version" in head ? head.version : undefined;
  if (version !== BUNDLE_VERSION)
    throw bad(
      `has version ${String(version)}, but this Patchbay reads version ${BUNDLE_VERSION}; use the Patchbay that recorded it (${"gateway" in head ? String(head.gateway) : "unknown"}), or record the turn again`,
    );
  const lines = rows.map((row, at) => lineIn(row, at + 1));
  checkSeal(text, lines);
  return lines;
}

/** Patchbay writes no deeper values, and they might exhaust the stack of their readers. */
const DEEPEST = 200;

function lineIn(row: string, number: number): BundleLine {
  const value = jsonOf(row);
  if (value === undefined)
    throw bad(
      `is cut off or damaged in line ${number}; copy the whole file again, or record the turn again`,
    );
  if (!isWithin(value, DEEPEST))
    throw bad(`is nested deeper than ${DEEPEST} levels in line ${number}; record the turn again`);
  const line = bundleLine.safeParse(value);
  if (line.success) return line.data;
  const [problem] = line.error.issues;
  throw bad(
    `has an invalid line ${number} (${problem?.path.join(".") ?? ""}: ${problem?.message ?? "unknown"}); use the file as it was recorded`,
  );
}

function checkSeal(text: string, lines: readonly BundleLine[]): void {
  const at = lines.findIndex(({ line }) => line === "seal");
  const seal = lines[at];
  if (seal?.line !== "seal")
    throw bad(
      "has no seal: it was cut off while it was written or copied; copy the whole file again, or record the turn again",
    );
  const sealedText = `${text.split("\n", at).join("\n")}\n`;
  const rest = lines.slice(at + 1);
  if (seal.lines !== at || hash("sha256", sealedText) !== seal.sha256)
    throw bad("was changed after it was recorded; use the file as it was recorded");
  if (rest.some(({ line }) => line !== "expect"))
    throw bad("has lines after its seal other than `expect`; remove them");
}

const bad = (problem: string): Fault => new Fault("request.invalid", `The bundle ${problem}.`);

const bytesIn = ({ text, base64 }: { text?: string | undefined; base64?: string | undefined }) =>
  base64 === undefined ? Buffer.from(text ?? "") : Buffer.from(base64, "base64");

function triesIn(lines: readonly BundleLine[]): readonly BundleTry[] {
  const groups = Map.groupBy(lines, (line) => ("try" in line ? line.try : 0));
  return [...groups.values()].flatMap((own): BundleTry[] => {
    const find = finder(own);
    const request = find("upstream-request");
    const opening = request ?? find("upstream-answer");
    if (opening === undefined) return [];
    const chunks = own.flatMap((line) =>
      line.line === "upstream-bytes" ? [{ at: line.at, bytes: bytesIn(line) }] : [],
    );
    return [
      {
        nth: opening.try,
        at: opening.at,
        upstream: opening.upstream,
        request,
        head: find("upstream-head"),
        chunks,
        events: own.flatMap((line) => (line.line === "upstream-event" ? [line] : [])),
        end: find("upstream-end"),
      },
    ];
  });
}
