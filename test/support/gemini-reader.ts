import { expect } from "vitest";
import { noAnswer, type ClientAnswer } from "./client-answer.ts";
import type { Body } from "./fake-upstream.ts";

export type GeminiForm = "sse" | "array";

/** The chunks of a stream, and the error that ended it. */
export type GeminiStream = { readonly chunks: readonly Body[]; readonly error: Body | undefined };

/** The one datum that each part has. */
const data = [
  "text",
  "functionCall",
  "inlineData",
  "fileData",
  "executableCode",
  "codeExecutionResult",
  "toolCall",
  "toolResponse",
];
const beside = new Set(["thought", "thoughtSignature", "partMetadata", "videoMetadata"]);
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/**
 * Reads a stream as strictly as the strictest of Google's and other clients: what any of them fails
 * at, forgets or runs by mistake fails here.
 */
export function readGeminiStream(text: string, form: GeminiForm = "sse"): GeminiStream {
  const bodies = (form === "sse" ? sseBodies(text) : arrayBodies(text)).map(
    (json) => JSON.parse(json) as Body,
  );
  const last = bodies.at(-1);
  const error = last?.["error"] as Body | undefined;
  const chunks = error === undefined ? bodies : bodies.slice(0, -1);
  if (error !== undefined) checkGeminiError(error);
  const candidates = checkChunks(chunks);
  expect(chunks.length + Number(error !== undefined), "a stream is not empty").toBeGreaterThan(0);
  for (const { index, finish } of candidates)
    if (error === undefined) expect(finish, `candidate ${index} ends`).toBeDefined();
    else expect(finish, "an answer that fails has no end").toBeUndefined();
  return { chunks, error };
}

function checkBytes(text: string): void {
  expect(/[\u0085\u2028\u2029]/.test(text), "characters that break lines").toBe(false);
  expect(/(?:^|[^\r])\n/.test(text), "a line feed alone").toBe(false);
}

/** `data: `, one line of JSON, and an empty line; other empty lines keep the connection alive. */
function sseBodies(text: string): string[] {
  checkBytes(text);
  expect(text.endsWith("\r\n\r\n"), "every frame ends with an empty line").toBe(true);
  return text
    .slice(0, -4)
    .split("\r\n\r\n")
    .filter((frame) => frame.trim() !== "")
    .map((frame) => {
      const [, json = ""] = /^(?:\r\n)*data: ([^\r\n]+)$/.exec(frame) ?? [];
      expect(json, `a frame is one line of data: ${frame}`).toMatch(/^\{.*\}$/s);
      return json;
    });
}

/** One list. That of a failed answer is left open, so that those who read it as a whole see the failure. */
function arrayBodies(text: string): string[] {
  const list = text.trimStart();
  expect(list.startsWith("["), "the stream is a list").toBe(true);
  expect(/[\u0085\u2028\u2029]/.test(text), "characters that break lines").toBe(false);
  const bodies = list
    .slice(1)
    .replace(/\n\]$/, "\n")
    .replace(/\n(?:\r\n)*$/, "")
    .split(/\n(?:\r\n)*,\r\n/);
  for (const body of bodies) expect(body, "a chunk is one line").toMatch(/^\{[^\r\n]*\}$/);
  const isFailed = "error" in (JSON.parse(bodies.at(-1) ?? "{}") as Body);
  expect(list.endsWith("\n]"), "the list of a good answer is closed").toBe(!isFailed);
  if (!isFailed) expect(JSON.parse(list)).toEqual(bodies.map((one) => JSON.parse(one) as Body));
  return bodies;
}

export function checkGeminiError(error: Body): void {
  expect(typeof error["code"], "the code is a number").toBe("number");
  expect(error["code"]).toBeGreaterThanOrEqual(400);
  expect(error["message"]).toMatch(/./);
  expect(error["status"]).toMatch(/^[A-Z_]+$/);
  for (const detail of (error["details"] ?? []) as Body[])
    expect(detail["@type"]).toMatch(/^type\.googleapis\.com\/google\.rpc\.\w+$/);
}

type Seen = { readonly index: number; readonly ids: Set<string>; finish: string | undefined };

function checkChunks(chunks: readonly Body[]): Seen[] {
  const seen = new Map<number, Seen>();
  const [first] = chunks;
  for (const [at, chunk] of chunks.entries()) {
    expect(chunk, "an error is the last frame").not.toHaveProperty("error");
    expect(chunk["responseId"]).toMatch(/./);
    expect(chunk["modelVersion"]).toMatch(/./);
    expect(chunk["responseId"]).toBe(first?.["responseId"]);
    expect(chunk["modelVersion"]).toBe(first?.["modelVersion"]);
    checkUsage(chunk["usageMetadata"] as Body | undefined);
    const candidates = chunk["candidates"] as Body[];
    expect(candidates.length, "every chunk has a candidate").toBeGreaterThan(0);
    const isLast = at === chunks.length - 1;
    for (const candidate of candidates) checkCandidate(candidate, isLast, seen);
  }
  return [...seen.values()];
}

function checkUsage(usage: Body | undefined): void {
  if (usage === undefined) return;
  for (const name of ["promptTokenCount", "candidatesTokenCount", "totalTokenCount"])
    expect(usage[name], `the count ${name}`).toEqual(expect.any(Number));
}

function checkCandidate(candidate: Body, isLast: boolean, all: Map<number, Seen>): void {
  const { index, content, finishReason } = candidate as { index: number } & Body;
  expect(typeof index, "a candidate has its index").toBe("number");
  const seen = all.get(index) ?? { index, ids: new Set(), finish: undefined };
  all.set(index, seen);
  expect(content["role"]).toBe("model");
  expect(content["parts"].length, "a candidate has a part").toBeGreaterThan(0);
  for (const part of content["parts"] as Body[]) checkPart(part, seen);
  const hasCalls = (content["parts"] as Body[]).some((part) => part["functionCall"]);
  if (hasCalls) expect(finishReason, "calls come with a good end").toBe("STOP");
  if (!("finishReason" in candidate)) return;
  expect(isLast, "the end is in the last chunk").toBe(true);
  expect(finishReason).toMatch(/^[A-Z_]+$/);
  expect(seen.finish, "a candidate ends once").toBeUndefined();
  seen.finish = finishReason as string;
}

function checkPart(part: Body, { ids }: Seen): void {
  expect(Object.keys(part), "a part is not empty").not.toEqual([]);
  const own = Object.keys(part).filter((key) => !beside.has(key));
  expect(own, "a part has one datum").toHaveLength(1);
  expect(data, "clients know the part").toContain(own[0]);
  if ("text" in part) expect(typeof part["text"]).toBe("string");
  if ("thought" in part) expect(part["thought"]).toBe(true);
  if ("thoughtSignature" in part) expect(part["thoughtSignature"]).toMatch(base64);
  const call = part["functionCall"] as Body | undefined;
  if (call === undefined) return;
  const { id, name, args } = call as { id: string; name: string; args: unknown };
  expect(Object.keys(call).toSorted()).toEqual(["args", "id", "name"]);
  expect(name).toMatch(/./);
  expect(id).toMatch(/./);
  expect(ids.has(id), "ids of calls are unique").toBe(false);
  ids.add(id);
  expect(args).toBeTypeOf("object");
  expect(Array.isArray(args) || args === null, "arguments are an object").toBe(false);
}

/** The whole answer that the chunks of a stream add up to: neighbouring text is joined. */
export function foldGemini(chunks: readonly Body[]): Body {
  const candidates = new Map<number, Body>();
  for (const { candidates: pieces } of chunks)
    for (const piece of pieces as Body[]) {
      const index = piece["index"] as number;
      const known = candidates.get(index);
      if (known === undefined) candidates.set(index, structuredClone(piece));
      else add(known, piece);
    }
  const folded = [...candidates.values()].toSorted((a, b) => a["index"] - b["index"]);
  for (const { content } of folded) content["parts"] = joined(content["parts"]);
  return Object.assign({}, ...chunks, { candidates: folded }) as Body;
}

function add(known: Body, piece: Body): void {
  const { content, logprobsResult, ...rest } = structuredClone(piece);
  known["content"]["parts"].push(...(content["parts"] as Body[]));
  Object.assign(known, rest);
  if (logprobsResult === undefined) return;
  const before = known["logprobsResult"] as Body | undefined;
  known["logprobsResult"] = Object.fromEntries(
    ["chosenCandidates", "topCandidates"].flatMap((key) => {
      const list = [...(before?.[key] ?? []), ...(logprobsResult[key] ?? [])] as unknown[];
      return list.length === 0 ? [] : [[key, list]];
    }),
  );
}

function joined(parts: readonly Body[]): Body[] {
  const all: Body[] = [];
  for (const part of parts) {
    const last = all.at(-1);
    const isMore =
      last !== undefined &&
      "text" in last &&
      "text" in part &&
      last["thought"] === part["thought"] &&
      last["thoughtSignature"] === undefined;
    if (isMore) all.push({ ...all.pop(), ...part, text: `${last["text"]}${part["text"]}` });
    else all.push(part);
  }
  // An empty text stands for the end of a stream whose parts have all been sent.
  const isBare = (part: Body | undefined): boolean =>
    part?.["text"] === "" && Object.keys(part).length === 1;
  return all.length > 1 && isBare(all.at(-1)) ? all.slice(0, -1) : all;
}

/** The first candidate of a whole answer as its client sees it. */
export function readGeminiBody(body: Body): ClientAnswer {
  checkChunks([body]);
  return answerIn(body);
}

function answerIn(body: Body): ClientAnswer {
  const [candidate] = body["candidates"] as [Body];
  const parts = candidate["content"]["parts"] as Body[];
  const textOf = (isThought: boolean): string =>
    parts
      .filter((part) => "text" in part && (part["thought"] === true) === isThought)
      .map((part) => part["text"] as string)
      .join("");
  return {
    text: textOf(false),
    refusal: "",
    reasoning: textOf(true),
    calls: parts
      .flatMap((part) => (part["functionCall"] as Body | undefined) ?? [])
      .map((call) => ({
        id: call["id"] as string,
        kind: "function",
        name: call["name"] as string,
        input: JSON.stringify(call["args"]),
        complete: true,
      })),
    stop: candidate["finishReason"] as string,
    error: undefined,
  };
}

/** An error in the words of the other doors: `code` is the gateway's own. */
export function readGeminiFailure(error: Body): Body {
  checkGeminiError(error);
  const details = error["details"] as Body[];
  const reason = details.find((one) => "reason" in one);
  return {
    code: (reason?.["metadata"]?.upstreamCode ?? reason?.["reason"]) as string,
    message: error["message"] as string,
    status: error["status"] as string,
    param: details.find((one) => "fieldViolations" in one)?.["fieldViolations"][0].field as string,
  };
}

/** A stream as its client sees it; that of a failed answer has no end. */
export function readGeminiAnswer(text: string): ClientAnswer {
  const { chunks, error } = readGeminiStream(text);
  const read = chunks.length === 0 ? noAnswer : answerIn(foldGemini(chunks));
  return error === undefined ? read : { ...read, stop: "", error: readGeminiFailure(error) };
}
