/** Writes a turn that was seen as a bundle: masked, and sealed with a digest. */

import { hash } from "node:crypto";
import { isUtf8 } from "node:buffer";
import { isHttpUpstream, type Config, type RecordingSettings } from "../../gateway/config.ts";
import { withoutMessages } from "../bus.ts";
import { version } from "../../upstreams/version.ts";
import { scrubber, secretsIn } from "./secrets.ts";
import { WireMask, type Steps } from "./wire-mask.ts";
import type { Entry, SeenTurn } from "./turn-record.ts";
import {
  type BundleEvent,
  BUNDLE_VERSION,
  isBundleHeader,
  type BundleLine,
  type Settings,
} from "./bundle.ts";

export type WriteOptions = Pick<RecordingSettings, "content" | "names"> & {
  /** Values that no bundle may hold, beside those of the configuration. */
  readonly secrets: readonly string[];
};

export function* writeBundle(turn: SeenTurn, options: WriteOptions): Steps<string> {
  const { content, names } = options;
  const secrets = [...new Set([...options.secrets, ...secretsIn(turn.config)])];
  const scrub = scrubber(secrets);
  const mask = new WireMask({
    content,
    names,
    scrub,
    models: modelsOf(turn),
    upstreams: Object.keys(turn.config.upstreams),
    isOwnError: turn.done?.fault?.startsWith("upstream.") !== true,
  });
  for (const request of requestsOf(turn)) mask.learn(request);
  const leftOut = new Set<string>();
  const headers = (all: Readonly<Record<string, unknown>>): Record<string, string> =>
    allowedHeaders(all, scrub, leftOut);
  const { request } = turn;
  const client: BundleLine = {
    line: "client-request",
    at: 0,
    method: request.method,
    path: scrub(request.path),
    headers: headers(request.headers),
    ...(request.socket && { socket: true }),
    body: yield* mask.body(request.body),
  };
  const wires = yield* wireLines(turn.entries, { mask, headers, scrub });
  const lines: BundleLine[] = [
    { line: "settings", ...settingsOf(turn) },
    client,
    ...wires,
    ...(yield* accountLines(turn, content, mask)),
  ];
  const head: BundleLine = {
    line: "bundle",
    version: BUNDLE_VERSION,
    id: turn.requestId,
    gateway: version,
    node: process.versions.node,
    platform: `${process.platform} ${process.arch}`,
    recorded: new Date(turn.startedAt).toISOString(),
    content,
    names,
    left_out: [...leftOut].toSorted(),
  };
  return yield* sealed([head, ...lines], secrets);
}

/** Lines with their seal. What a mask missed of known secrets is taken out of them at last. */
function* sealed(lines: readonly BundleLine[], secrets: readonly string[]): Steps<string> {
  const scrub = scrubber(secrets, []);
  let clean = "";
  for (const line of lines) {
    clean += `${scrub(JSON.stringify(line))}\n`;
    yield;
  }
  const seal = { line: "seal", lines: lines.length, sha256: hash("sha256", clean) };
  return `${clean}${JSON.stringify(seal)}\n`;
}

function* accountLines(
  { plan, done }: SeenTurn,
  content: WriteOptions["content"],
  mask: WireMask,
): Steps<BundleLine[]> {
  const told = content === "masked" && done !== undefined ? withoutMessages(done) : done;
  const lines: unknown[] = [];
  for (const [line, value] of Object.entries({ plan, done: told })) {
    if (value === undefined) continue;
    const text = yield* mask.body(JSON.stringify(value), "account");
    lines.push({ line, [line]: JSON.parse(text) });
  }
  return lines as BundleLine[];
}

/** All requests of the turn: what declares tools. */
function requestsOf({ request, entries }: SeenTurn): string[] {
  const sent = entries.flatMap((entry) => {
    if (entry.type === "upstream-request") return [Buffer.from(entry.body ?? []).toString("utf8")];
    return entry.type === "upstream-message" && entry.direction === "sent" ? [entry.json] : [];
  });
  return [request.body, ...sent];
}

/** The names of models that lead anywhere; any other is the client's word. */
function modelsOf({ asked, config }: SeenTurn): string[] {
  if (asked === undefined) return Object.keys(config.models);
  const models = asked.chain.map((link) => link.slice(link.indexOf("/") + 1));
  return [asked.model, ...asked.chain, ...models, ...Object.keys(config.models)];
}

/** What decides how the turn goes, and nothing that is secret or says where anything is. */
function settingsOf({ asked, config }: SeenTurn): Settings {
  const chain = asked?.chain ?? [];
  const names = [...new Set(chain.map((link) => link.slice(0, link.indexOf("/"))))];
  return {
    models: asked === undefined ? {} : { [asked.model]: [...chain] },
    upstreams: Object.fromEntries(
      names.map((name) => [name, upstreamSettings(config.upstreams[name])]),
    ),
    tools: { ...config.tools },
  };
}

function upstreamSettings(
  upstream: Config["upstreams"][string] | undefined,
): Settings["upstreams"][string] {
  if (upstream === undefined) return {};
  const { dialect, profile, capabilities } = upstream;
  const common = { dialect, profile, capabilities };
  if (!isHttpUpstream(upstream)) return common;
  const { pathname, search } = new URL(upstream.base_url);
  return { ...common, retries: upstream.retries, base_path: scrubQuery(pathname + search) };
}

function allowedHeaders(
  headers: Readonly<Record<string, unknown>>,
  scrub: (text: string) => string,
  leftOut: Set<string>,
): Record<string, string> {
  const written: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) continue;
    if (isBundleHeader(name))
      written[name] = scrub(String(Array.isArray(value) ? value[0] : value));
    else leftOut.add(scrub(name));
  }
  return written;
}

type Writing = {
  readonly mask: WireMask;
  readonly headers: (all: Readonly<Record<string, unknown>>) => Record<string, string>;
  readonly scrub: (text: string) => string;
};

/** All entries as lines. The bytes of one stream are masked as one, and split as they were. */
function* wireLines(entries: readonly Entry[], writing: Writing): Steps<BundleLine[]> {
  const { mask } = writing;
  const chunks = new Map<Entry, Buffer>();
  const texts = new Map<Entry, string>();
  const streams = Map.groupBy(entries, streamOf);
  // The reply comes last: ids in it that nobody has said before are the gateway's own.
  const names = [...streams.keys()].toSorted((a, b) => Number(a === REPLY) - Number(b === REPLY));
  for (const name of names) {
    const stream = streams.get(name) ?? [];
    const origin = name === REPLY ? "reply" : "upstream";
    const bytes = stream.flatMap((entry) => ("bytes" in entry ? [entry] : []));
    const masked = yield* mask.chunks(
      bytes.map((entry) => entry.bytes),
      origin,
    );
    for (const [at, entry] of bytes.entries()) chunks.set(entry, masked[at] ?? Buffer.alloc(0));
    const values = stream.flatMap((entry) => ("json" in entry ? [entry] : []));
    const isSent = values.some(
      (one) => one.type === "upstream-message" && one.direction === "sent",
    );
    const written = yield* mask.values(
      values.map((entry) => entry.json),
      isSent ? "request" : origin,
    );
    for (const [at, entry] of values.entries()) texts.set(entry, written[at] ?? "null");
  }
  const lines: BundleLine[] = [];
  for (const entry of entries) lines.push(yield* lineOf(entry, writing, { chunks, texts }));
  return lines;
}

const REPLY = "reply";

/** What is masked as one: what came of one try, sent messages apart from received ones, and the reply. */
const streamOf = (entry: Entry): string =>
  "after" in entry
    ? REPLY
    : `${entry.try} ${entry.type === "upstream-message" ? entry.direction : entry.type}`;

function* lineOf(
  entry: Entry,
  { mask, headers, scrub }: Writing,
  { chunks, texts }: { chunks: Map<Entry, Buffer>; texts: Map<Entry, string> },
): Steps<BundleLine> {
  const parsed = (): unknown => JSON.parse(texts.get(entry) ?? "null");
  switch (entry.type) {
    case "upstream-request": {
      const { type, body, ...rest } = entry;
      const text = Buffer.from(body ?? []).toString("utf8");
      const sent = { path: scrubQuery(scrub(rest.path)), headers: headers(rest.headers) };
      return { line: type, ...rest, ...sent, body: yield* mask.body(text) };
    }
    case "upstream-head":
    case "client-head": {
      const { type, ...rest } = entry;
      return { line: type, ...rest, headers: headers(rest.headers) } as BundleLine;
    }
    case "upstream-bytes":
    case "client-bytes": {
      const { type, bytes: _, ...rest } = entry;
      return { line: type, ...rest, ...chunkFields(chunks.get(entry)) } as BundleLine;
    }
    case "upstream-end":
    case "upstream-answer":
    case "client-end": {
      const { type, ...rest } = entry;
      return { line: type, ...rest } as BundleLine;
    }
    case "upstream-message": {
      const { type, json: _, ...rest } = entry;
      return { line: type, ...rest, message: parsed() };
    }
    case "upstream-event": {
      const { type, json: _, ...rest } = entry;
      return { line: type, ...rest, event: parsed() as BundleEvent };
    }
    default:
      return entry satisfies never;
  }
}

/** Keys may stand in any part of a query; versions are none. */
const scrubQuery = (path: string): string =>
  path.replaceAll(/([?&])([^=&]*)=[^&]*/g, (pair, mark: string, name: string) =>
    /version/i.test(name) ? pair : `${mark}${name}=x`,
  );

const chunkFields = (chunk: Buffer = Buffer.alloc(0)): { text: string } | { base64: string } =>
  isUtf8(chunk) ? { text: chunk.toString("utf8") } : { base64: chunk.toString("base64") };
