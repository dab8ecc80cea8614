// The upstream of every measurement, in a separate process: it selects an answer by the request
// and writes prepared bytes, so that its own cost stays out of the figures.
import { createServer, type Socket } from "node:net";
import { type Answer, answerOf, longAnswer, type Part } from "./answers.ts";
import { geminiAnswerOf } from "./gemini-answers.ts";
import { messagesAnswerOf } from "./messages-answers.ts";
import { scenarios } from "./scenarios.ts";

const answers = {
  chat: new Map(scenarios.map((each) => [each.id, answerOf(each)])),
  messages: new Map(scenarios.map((each) => [each.id, messagesAnswerOf(each)])),
  gemini: new Map(scenarios.map((each) => [each.id, geminiAnswerOf(each)])),
};
const drips = new Set(scenarios.filter((each) => each.pace === "drip").map((each) => each.id));
let seen = "";

const server = createServer({ noDelay: true }, (socket) => {
  let pending: Buffer | undefined;
  socket.on("data", (data: Buffer) => {
    pending = pending ? Buffer.concat([pending, data]) : data;
    const body = wholeBody(pending);
    if (body === undefined) return;
    const path = pending.toString("latin1", 0, pending.indexOf("\r\n"));
    pending = undefined;
    answer(socket, path, body);
  });
  // A subject that goes away takes its connections along; nothing is lost.
  socket.on("error", () => socket.destroy());
});

server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (address && typeof address === "object") process.send?.(address.port);
});
process.on("disconnect", () => process.exit());

/** The request's body once it has come whole. */
function wholeBody(bytes: Buffer): string | undefined {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const head = bytes.toString("latin1", 0, end);
  const length = /content-length: *(\d+)/i.exec(head)?.[1];
  const body = bytes.toString("latin1", end + 4);
  if (length !== undefined) return body.length < Number(length) ? undefined : body;
  const chunked = /transfer-encoding: *chunked/i.test(head);
  return chunked && !body.endsWith("0\r\n\r\n") ? undefined : body;
}

function answer(socket: Socket, path: string, body: string): void {
  // An empty body asks for the last request, to see what a subject made of it.
  if (body === "") {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${seen.length}\r\n\r\n${seen}`, "latin1");
    return;
  }
  seen = body;
  const inPath = /\/models\/([\w-]+):/.exec(path)?.[1];
  const model = inPath ?? /"model" *: *"([^"]*)"/.exec(body)?.[1] ?? "";
  const dialect = inPath ? "gemini" : path.includes("/v1/messages") ? "messages" : "chat";
  const found = answers[dialect].get(model) ?? long(model);
  if (!found) {
    socket.write("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
    return;
  }
  const parts = path.includes(":stream") ? found.stream : fitting(found, body);
  if (drips.has(model)) dripParts(socket, parts, 0);
  else writeParts(socket, parts, 0, 0);
}

function fitting(answer: Answer, body: string): readonly Part[] {
  if (!/"stream" *: *true/.test(body)) return answer.whole;
  return /"include_usage" *: *true/.test(body) ? answer.counted : answer.stream;
}

/** `long-N`: a call of N one-character fragments. */
function long(model: string): Answer | undefined {
  const count = Number(/^long-(\d+)$/.exec(model)?.[1] ?? 0);
  return count > 0 ? longAnswer(model, count) : undefined;
}

const nothing: Part = { bytes: Buffer.alloc(0), times: 0 };

function writeParts(socket: Socket, parts: readonly Part[], from: number, done: number): void {
  let written = done;
  for (let at = from; at < parts.length; at += 1) {
    const { bytes, times } = parts[at] ?? nothing;
    for (; written < times; written += 1) {
      if (socket.write(bytes)) continue;
      const next = written + 1;
      socket.once("drain", () => writeParts(socket, parts, at, next));
      return;
    }
    written = 0;
  }
}

function dripParts(socket: Socket, parts: readonly Part[], at: number): void {
  const part = parts[at];
  if (!part || socket.destroyed) return;
  socket.write(part.bytes);
  setImmediate(dripParts, socket, parts, at + 1);
}
