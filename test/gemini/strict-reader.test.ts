import { describe, expect, it } from "vitest";
import { readGeminiStream, type GeminiForm } from "../support/gemini-reader.ts";

type Fields = Readonly<Record<string, unknown>>;

const head = { modelVersion: "m", responseId: "r" };
const chunk = (parts: readonly unknown[], more: Fields = {}, rest: Fields = head): string =>
  JSON.stringify({
    candidates: [{ content: { parts, role: "model" }, index: 0, ...more }],
    ...rest,
  });
const frame = (json: string): string => `data: ${json}\r\n\r\n`;
const said = chunk([{ text: "So." }]);
const stop = { finishReason: "STOP" };
const ended = chunk([{ text: "" }], stop);
const call = { functionCall: { id: "c", name: "look", args: {} } };
const error = '{"error":{"code":503,"message":"Cut.","status":"UNAVAILABLE"}}';

describe("the strict reader takes", () => {
  it.each<[string, GeminiForm, string]>([
    ["text and an end", "sse", frame(said) + frame(ended)],
    ["empty lines between frames", "sse", `\r\n${frame(said)}\r\n\r\n${frame(ended)}`],
    ["calls with a good end", "sse", frame(said) + frame(chunk([call], stop))],
    ["a failure after text", "sse", frame(said) + frame(error)],
    ["a failure alone", "sse", frame(error)],
    ["a list", "array", `[${said}\n,\r\n${ended}\n]`],
    ["blanks in a list", "array", `\r\n[${said}\n\r\n,\r\n${ended}\n]`],
    ["a list that breaks off with a failure", "array", `[${said}\n,\r\n${error}\n`],
  ])("%s", (_, form, text) => {
    expect(() => readGeminiStream(text, form)).not.toThrow();
  });
});

describe("the strict reader refuses", () => {
  const whole = (json: string): string => frame(said) + frame(json);
  it.each([
    ["no blank after the colon", `data:${said}\r\n\r\n${frame(ended)}`],
    ["line feeds alone", `data: ${said}\n\n${frame(ended)}`],
    ["data of several lines", `data: {\r\ndata: }\r\n\r\n${frame(ended)}`],
    ["no empty line at the end", frame(said) + frame(ended).slice(0, -2)],
    ["a comment", `: hi\r\n\r\n${frame(ended)}`],
    ["a comment within a frame", `: hi\r\n${frame(ended)}`],
    ["the name of an event", `event: x\r\n${frame(ended)}`],
    ["a sentinel", `${frame(ended)}data: [DONE]\r\n\r\n`],
    ["characters that break lines", frame(chunk([{ text: "\u2028" }])) + frame(ended)],
    ["U+0085", frame(chunk([{ text: "\u0085" }])) + frame(ended)],
    ["a chunk without candidates", whole(JSON.stringify({ candidates: [], ...head }))],
    ["a chunk without parts", whole(chunk([], stop))],
    ["an empty part", whole(chunk([{}], stop))],
    ["a part that clients do not know", whole(chunk([{ newest: 1 }], stop))],
    ["two data in a part", whole(chunk([{ text: "", ...call }], stop))],
    ["no role", whole(chunk([{ text: "" }], stop).replace(',"role":"model"', ""))],
    ["no index", whole(chunk([{ text: "" }], stop).replace(',"index":0', ""))],
    ["no end", frame(said)],
    ["two ends", frame(ended) + frame(ended)],
    ["an end before the last chunk", frame(ended) + frame(said)],
    ["a call before the end", frame(chunk([call])) + frame(ended)],
    ["a call with a bad end", whole(chunk([call], { finishReason: "MAX_TOKENS" }))],
    ["two calls of one id", whole(chunk([call, call], stop))],
    [
      "arguments that are no object",
      whole(chunk([{ functionCall: { id: "c", name: "f", args: [] } }], stop)),
    ],
    ["a signature that is not base64", whole(chunk([{ text: "", thoughtSignature: "a" }], stop))],
    ["an error with a text for its code", frame(error.replace("503", '"503"'))],
    ["chunks after a failure", frame(error) + frame(ended)],
    ["another id", whole(chunk([{ text: "" }], stop, { ...head, responseId: "x" }))],
    ["a failure after the end", frame(ended) + frame(error)],
  ])("%s", (_, text) => {
    expect(() => readGeminiStream(text)).toThrow(/expected/);
  });

  it.each([
    ["a list that is open at a good end", `[${said}\n,\r\n${ended}\n`],
    ["a list that a failure closes", `[${said}\n,\r\n${error}\n]`],
    ["events for a list", frame(said) + frame(ended)],
  ])("%s", (_, text) => {
    expect(() => readGeminiStream(text, "array")).toThrow(/expected/);
  });
});
