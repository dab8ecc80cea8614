import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { chunk, answerInChat, type FakeAnswer } from "../support/fake-model.ts";
import {
  cut,
  fakeUpstream,
  frame,
  sse,
  type Body,
  type ReceivedRequest,
  type Model,
  type Step,
} from "../support/fake-upstream.ts";
import { onto, serve, type Served } from "../support/serve.ts";
import { exec, mcpServer, missing, codexFolder } from "./codex.ts";

/** Says one thing after the other, each as an answer to one request. */
const script =
  (...says: readonly FakeAnswer[]): Model =>
  ({ body }, index) =>
    answerInChat(body, says[index] ?? { text: "There is no more to say." });

const call = (name: string, input: unknown, id = `call_${name}`): FakeAnswer => ({
  calls: [{ id, name, arguments: typeof input === "string" ? input : JSON.stringify(input) }],
});
const done: FakeAnswer = { text: "Done." };

const namesOf = (heard: ReceivedRequest | undefined): string[] =>
  ((heard?.body["tools"] ?? []) as Body[]).map((tool) => tool["function"]?.name as string);
const messagesIn = (heard: ReceivedRequest | undefined): Body[] =>
  (heard?.body["messages"] ?? []) as Body[];
const resultsIn = (heard: ReceivedRequest | undefined): Body[] =>
  messagesIn(heard).filter((message) => message["role"] === "tool");

type Scene = {
  readonly model: string;
  readonly upstream: Model;
  readonly more?: string;
  readonly before?: (work: string) => Promise<void>;
};

/** Lets Codex work through the gateway with a scripted chat model. */
async function play(
  { model, upstream: says, more = "", before }: Scene,
  judge: (seen: {
    heard: readonly ReceivedRequest[];
    work: string;
    served: Served;
  }) => Promise<void> | void,
): Promise<void> {
  await using upstream = await fakeUpstream(says);
  await using served = await serve(onto("chat", upstream.url));
  await using here = await codexFolder({ url: served.url, model, more });
  await before?.(here.work);
  expect(await exec(here, "Do it.")).toEqual({ code: 0, said: "Done." });
  await judge({ heard: upstream.requests, work: here.work, served });
}

const withServer = mcpServer("local", new URL("./mcp-server.ts", import.meta.url));

const broken = frame({ error: { message: "Out of memory." } });
const patch = '*** Begin Patch\n*** Add File: made.txt\n+from a "chat" model\n*** End Patch\n';

describe.skipIf(missing)("codex exec on a chat model", () => {
  it.each([
    ["as it was asked to", { input: patch }],
    ["in plain text", patch],
  ])("applies a patch that the model writes %s", async (_, input) => {
    await play(
      { model: "gpt-5.5", upstream: script(call("apply_patch", input), done) },
      async ({ heard, work }) => {
        const tools = heard[0]?.body["tools"] as Body[];
        const tool = tools.find((one) => one["function"].name === "apply_patch")?.[
          "function"
        ] as Body;
        expect(tool["parameters"].required).toEqual(["input"]);
        expect((tool["description"] as string).split("begin_patch:").length).toBe(2);
        expect(await readFile(join(work, "made.txt"), "utf8")).toBe('from a "chat" model\n');
        expect(resultsIn(heard[1])).toHaveLength(1);
      },
    );
  });

  it("calls a tool of an MCP server, which it knows by a namespace", async () => {
    const says = script(call("mcp__local__shout", { text: "hello" }), done);
    await play({ model: "some-model", upstream: says, more: withServer }, ({ heard }) => {
      expect(namesOf(heard[0])).toContain("mcp__local__shout");
      expect(JSON.stringify(resultsIn(heard[1]))).toContain("HELLO");
      const made = messagesIn(heard[1]).find((message) => message["tool_calls"]);
      expect(made?.["tool_calls"][0].function.name).toBe("mcp__local__shout");
    });
  });

  it("searches for a tool of an MCP server, and calls it once it is found", async () => {
    const says = script(
      call("tool_search", { query: "shout a text in capitals", limit: 5 }),
      call("mcp__local__shout", { text: "hello" }),
      done,
    );
    await play({ model: "gpt-5.5", upstream: says, more: withServer }, ({ heard }) => {
      expect(namesOf(heard[0])).not.toContain("mcp__local__shout");
      expect(namesOf(heard[1])).toContain("mcp__local__shout");
      expect(JSON.stringify(resultsIn(heard[1]))).toContain("mcp__local__shout");
      expect(JSON.stringify(resultsIn(heard[2]))).toContain("HELLO");
    });
  });

  it.each(["gpt-6.1-sol", "gpt-5.6-luna"])(
    "uses tools that come in the conversation, as %s",
    async (model) => {
      const code = 'const r = await tools.exec_command({cmd: "printf made > made.txt"}); text(r);';
      const says = script(call("functions__exec", { input: code }), done);
      await play({ model, upstream: says }, async ({ heard, work }) => {
        expect(namesOf(heard[0])).toContain("functions__exec");
        expect(await readFile(join(work, "made.txt"), "utf8")).toBe("made");
        expect(resultsIn(heard[1])).toHaveLength(1);
      });
    },
  );

  it("shows the model an image that is a tool's result", async () => {
    const png =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const says = script(call("view_image", { path: "dot.png" }), done);
    const before = (work: string): Promise<void> =>
      writeFile(join(work, "dot.png"), Buffer.from(png, "base64"));
    await play({ model: "gpt-5.5", upstream: says, before }, ({ heard }) => {
      expect(resultsIn(heard[1])).toHaveLength(1);
      const last = messagesIn(heard[1]).at(-1);
      expect(last).toMatchObject({ role: "user" });
      expect(JSON.stringify(last)).toContain("data:image/png;base64,");
    });
  });

  it("gives the model's reasoning back with its call", async () => {
    const says = script(
      { reasoning: "I should look.", ...call("exec_command", { cmd: "true" }) },
      done,
    );
    await play({ model: "gpt-5.5", upstream: says }, ({ heard }) => {
      const made = messagesIn(heard[1]).find((message) => message["tool_calls"]);
      expect(made).toMatchObject({ reasoning_content: "I should look." });
    });
  });

  it.each<[string, string, string, Step]>([
    ["half of it", "exec_command", '{"cmd":"touch made.txt"', chunk(0, {}, "length")],
    ["all of it by a limit", "exec_command", '{"cmd":"touch made.txt"}', chunk(0, {}, "length")],
    ["all of it by an error", "exec_command", '{"cmd":"touch made.txt"}', broken],
    ["all of it by a cut", "exec_command", '{"cmd":"touch made.txt"}', cut],
    ["a patch by a limit", "apply_patch", JSON.stringify({ input: patch }), chunk(0, {}, "length")],
    ["a patch by an error", "apply_patch", JSON.stringify({ input: patch }), broken],
  ])("does not run a call that was cut off: %s", async (_, name, input, ends) => {
    const begun = (of: Body): string => chunk(0, { tool_calls: [{ index: 0, ...of }] });
    const header = begun({ id: "call_1", type: "function", function: { name, arguments: "" } });
    const answer = sse(header, begun({ function: { arguments: input } }), ends);
    await using upstream = await fakeUpstream(({ body }, index) =>
      index === 0 ? answer : answerInChat(body, done),
    );
    await using served = await serve(onto("chat", upstream.url));
    await using here = await codexFolder({ url: served.url, model: "gpt-5.5" });
    await exec(here, "Do it.");
    await expect(readFile(join(here.work, "made.txt"))).rejects.toThrow("ENOENT");
  });
});
