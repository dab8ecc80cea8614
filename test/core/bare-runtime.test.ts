import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { readChatBody, readChatStream } from "../support/chat-reader.ts";
import { fakeUpstream, type Body } from "../support/fake-upstream.ts";
import { readResponsesBody, readResponsesStream } from "../support/responses-reader.ts";

const script = fileURLToPath(new URL("bare-runtime.ts", import.meta.url));

type Line = {
  readonly path?: string;
  readonly status?: number;
  readonly text?: string;
  readonly refused?: string;
  /** Globals of Node that were found. */
  readonly nodeOnly?: readonly string[];
  readonly turns?: number;
};

/** What the clients got in the bare runtime, in the order in which they asked. */
let lines: readonly Line[] = [];
const requests: Body[] = [];
const answers = (): readonly Line[] => lines.filter(({ path }) => path !== undefined);

const calls = (names: readonly string[]): Body[] =>
  names.map((name, index) => ({
    index,
    id: `call_${index}`,
    type: "function",
    function: { name, arguments: name === "look" ? '{"at":1}' : '{"input":"bees"}' },
  }));

beforeAll(async () => {
  await using upstream = await fakeUpstream(({ body }) => {
    requests.push(body);
    const names = (body["tools"] as { function: { name: string } }[]).map(
      (tool) => tool.function.name,
    );
    const said = { role: "assistant", content: "Looking.", tool_calls: calls(names) };
    const choice = { index: 0, finish_reason: "tool_calls" };
    if (body["stream"] !== true)
      return {
        headers: { "content-type": "application/json" },
        steps: [JSON.stringify({ id: "chatcmpl-1", choices: [{ ...choice, message: said }] })],
      };
    const frame = (delta: object, finish_reason: string | null = null): string =>
      `data: ${JSON.stringify({ id: "chatcmpl-1", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
    return {
      headers: { "content-type": "text/event-stream" },
      steps: [frame(said), frame({}, "tool_calls"), "data: [DONE]\n\n"],
    };
  });
  const args = ["--experimental-vm-modules", "--no-warnings", script, upstream.url];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  lines = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
});

describe("the core entry where there is nothing of Node", () => {
  it("runs without Node's globals", () => {
    expect(lines[0]?.nodeOnly).toEqual([]);
  });

  it("answers chat clients with text and calls, streamed and whole", () => {
    const [streamed, , whole] = answers();
    for (const read of [
      readChatStream(streamed?.text ?? ""),
      readChatBody(JSON.parse(whole?.text ?? "") as Body),
    ]) {
      expect(read).toMatchObject({ text: "Looking.", stop: "tool_calls" });
      expect(read.calls).toMatchObject([{ name: "look", input: '{"at":1}' }]);
    }
  });

  it("answers Responses clients with calls of functions and custom tools, streamed and whole", () => {
    const [, streamed, , whole] = answers();
    for (const read of [
      readResponsesStream(streamed?.text ?? ""),
      readResponsesBody(JSON.parse(whole?.text ?? "") as Body),
    ]) {
      expect(read.text).toBe("Looking.");
      expect(read.calls).toMatchObject([
        { name: "look", input: '{"at":1}' },
        { name: "note", input: "bees" },
      ]);
    }
    expect(requests).toHaveLength(4);
  });

  it("serves upstreams of its user's own and scripts, and lets in by keys", () => {
    const [own, actor, barred] = answers().slice(4);
    expect(own?.text).toContain('"own 1"');
    expect(actor?.text).toContain('"Scripted."');
    expect(barred).toMatchObject({ status: 401 });
  });

  it("reads bodies by what the runtime can decompress", () => {
    const [packed, unknown] = answers().slice(7);
    expect(packed?.text).toContain('"own 1"');
    expect(unknown).toMatchObject({ status: 415 });
    expect(unknown?.text).toContain("use one of gzip, deflate, or send the body as it is");
  });

  it("refuses what only Node can do when it is opened", () => {
    const refused = lines.flatMap((line) => line.refused ?? []);
    expect(refused).toEqual([
      expect.stringMatching(/^`upstreams\.c`: Codex is a program that the gateway starts/),
      expect.stringMatching(/^`telemetry\.usage_log` is kept in files, and there are none here\./),
    ]);
    expect(lines.at(-1)).toEqual({ turns: 7 });
  });
});
