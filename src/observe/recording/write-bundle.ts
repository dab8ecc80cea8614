/** Writes a recorded turn as a bundle: masked, and sealed with a digest. */

import { hash } from "node:crypto";
import { isUtf8 } from "node:buffer";
import { isHttpUpstream, type Config } from "../../gateway/config.ts";
import { withoutMessages } from "../bus.ts";
import { version } from "../../upstreams/version.ts";
import { scrubber, secretsIn } from "./secrets.ts";
import { isApiWord, type WireOrigin } from "./leaf-policy.ts";
import { WireMask, type Steps } from "./wire-mask.ts";
import type { RecordedEntry, RecordedTurn } from "./turn-record.ts";
import { BUNDLE_VERSION, isBundleHeader, type BundleLine, type Settings } from "./bundle.ts";

/** `outside`: secrets of the environment; those of the configuration are added. */
export function* writeBundle(turn: RecordedTurn, outside: readonly string[]): Steps<string> {
  const { requestId, config, exchange } = turn.request;
  const { content, names } = config.recording;
  const secrets = [...new Set([...outside, ...secretsIn(config)])];
  const scrub = scrubber(secrets);
  const mask = new WireMask({
    content,
    names,
    scrub,
    models: modelsOf(turn),
    upstreams: Object.keys(config.upstreams),
    isOwnError: turn.done?.fault?.startsWith("upstream.") !== true,
  });
  mask.learn(exchange.body);
  // All requests may declare tools.
  for (const { line, bytes, json = "" } of turn.entries) {
    if (line.line === "upstream-request") mask.learn(bytes?.toString("utf8") ?? "");
    else if (line.line === "upstream-message" && line.direction === "sent") mask.learn(json);
  }
  const leftOut = new Set<string>();
  const headers = (all: Readonly<Record<string, unknown>>): Record<string, string> => {
    const written: Record<string, string> = {};
    for (const [name, value] of Object.entries(all)) {
      if (value === undefined) continue;
      if (isBundleHeader(name))
        written[name] = scrub(String(Array.isArray(value) ? value[0] : value));
      else leftOut.add(scrub(name));
    }
    return written;
  };
  const client: BundleLine = {
    line: "client-request",
    at: 0,
    method: exchange.method,
    path: scrubQuery(
      scrub(exchange.query === "" ? exchange.path : `${exchange.path}?${exchange.query}`),
    ),
    headers: headers(exchange.headers),
    ...(exchange.session !== undefined && { socket: true }),
    body: yield* mask.body(exchange.body),
  };
  const wires = yield* wireLines(turn.entries, mask, (line) => ({
    ...line,
    ...("path" in line && { path: scrubQuery(scrub(line.path)) }),
    ...("headers" in line && { headers: headers(line.headers) }),
  }));
  const head: BundleLine = {
    line: "bundle",
    version: BUNDLE_VERSION,
    id: requestId,
    gateway: version,
    node: process.versions.node,
    platform: `${process.platform} ${process.arch}`,
    recorded: new Date(turn.startedAt).toISOString(),
    content,
    names,
    left_out: [...leftOut].toSorted(),
  };
  const lines: unknown[] = [head, { line: "settings", ...settingsOf(turn) }, client, ...wires];
  const { plan, done } = turn;
  if (plan !== undefined) lines.push({ line: "plan", plan: mask.report(plan) });
  if (done !== undefined) {
    const shown = content === "masked" ? withoutMessages(done) : done;
    lines.push({ line: "done", done: mask.report(shown) });
  }
  return yield* sealed(lines, secrets);
}

/** Lines with their seal. Known secrets that a mask missed are removed. */
function* sealed(lines: readonly unknown[], secrets: readonly string[]): Steps<string> {
  const scrub = scrubber(secrets, []);
  let clean = "";
  for (const line of lines) {
    clean += `${scrub(JSON.stringify(line))}\n`;
    yield;
  }
  const seal = { line: "seal", lines: lines.length, sha256: hash("sha256", clean) };
  return `${clean}${JSON.stringify(seal)}\n`;
}

/** The names of models of the configuration; any other is the client's word. */
function modelsOf({ asked, request: { config } }: RecordedTurn): string[] {
  if (asked === undefined) return Object.keys(config.models);
  const models = asked.chain.map((link) => link.slice(link.indexOf("/") + 1));
  return [asked.model, ...asked.chain, ...models, ...Object.keys(config.models)];
}

/** The settings that decide the turn, without secrets, addresses, programs and files. */
function settingsOf({ asked, request: { config } }: RecordedTurn): Settings {
  const chain = asked?.chain ?? [];
  const names = chain.map((link) => link.slice(0, link.indexOf("/")));
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

/** All entries as lines. The bytes of one stream are masked as one, and split as they were. */
function* wireLines(
  entries: readonly RecordedEntry[],
  mask: WireMask,
  clean: (line: RecordedEntry["line"]) => object,
): Steps<BundleLine[]> {
  const payloads = new Map<RecordedEntry, object>();
  const {
    reply = [],
    requests = [],
    answers = [],
  } = Object.groupBy(entries, ({ line }) =>
    "after" in line ? "reply" : line.line === "upstream-request" ? "requests" : "answers",
  );
  const streams = Map.groupBy(answers, ({ line }) =>
    [line.line, "try" in line && line.try, "direction" in line && line.direction].join(" "),
  );
  for (const [name, stream] of streams) {
    const origin = name.endsWith("sent") ? "request" : "upstream";
    yield* maskStream(stream, mask, { origin, payloads });
  }
  // The reply comes after the answers: ids in it that no upstream sent are the gateway's own.
  yield* maskStream(reply, mask, { origin: "reply", payloads });
  for (const entry of requests)
    payloads.set(entry, { body: yield* mask.body(entry.bytes?.toString("utf8") ?? "") });
  return entries.map((entry) => ({ ...clean(entry.line), ...payloads.get(entry) }) as BundleLine);
}

type Masking = { readonly origin: WireOrigin; readonly payloads: Map<RecordedEntry, object> };

function* maskStream(
  stream: readonly RecordedEntry[],
  mask: WireMask,
  { origin, payloads }: Masking,
): Steps<void> {
  const binary = stream.flatMap(({ bytes = [] }) => bytes);
  const chunks = (yield* mask.chunks(binary, origin)).values();
  const texts = stream.flatMap(({ json = [] }) => json);
  const values = (yield* mask.values(texts, origin)).values();
  for (const entry of stream) {
    if (entry.bytes !== undefined) payloads.set(entry, chunkFields(chunks.next().value));
    if (entry.json === undefined) continue;
    const value: unknown = JSON.parse(values.next().value ?? "null");
    payloads.set(entry, { [entry.line.line === "upstream-event" ? "event" : "message"]: value });
  }
}

/** Any value of a query may be a key, except versions and words of APIs. */
const scrubQuery = (path: string): string =>
  path.replaceAll(/([?&])([^=&]*)=([^&]*)/g, (pair, mark: string, name: string, value: string) =>
    /version/i.test(name) || isApiWord(value) ? pair : `${mark}${name}=x`,
  );

const chunkFields = (chunk: Buffer = Buffer.alloc(0)): { text: string } | { base64: string } =>
  isUtf8(chunk) ? { text: chunk.toString("utf8") } : { base64: chunk.toString("base64") };
