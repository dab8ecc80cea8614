import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { answerInChat } from "../support/fake-model.ts";
import { fakeUpstream, type Body, type Model } from "../support/fake-upstream.ts";
import { onto, serve } from "../support/serve.ts";
import { exec, missing, codexFolder } from "./codex.ts";

/** Runs a command in the shell that Codex offers, then says that it is done. */
const shellThenDone: Model = ({ body }) => {
  const results = (body["messages"] as Body[]).filter((message) => message["role"] === "tool");
  if (results.length > 0) return answerInChat(body, { text: "The file is there." });
  const tools = (body["tools"] as Body[]).map((tool) => tool["function"] as Body);
  const shell = tools.find((tool) => "cmd" in (tool["parameters"]?.properties ?? {}));
  const input = JSON.stringify({ cmd: "printf 'from a chat model' > made.txt && cat made.txt" });
  return answerInChat(body, { calls: [{ id: "call_1", name: shell?.["name"], arguments: input }] });
};

describe.skipIf(missing)("codex exec on a chat model behind the gateway", () => {
  // Codex offers a model it knows other kinds of tools than one it does not.
  it.each(["some-model", "gpt-5.5"])("runs a command when asked as %s", async (model) => {
    await using upstream = await fakeUpstream(shellThenDone);
    await using served = await serve(onto("chat", upstream.url));
    await using here = await codexFolder({ url: served.url, model });

    expect(await exec(here, "Make the file.")).toEqual({ code: 0, said: "The file is there." });

    expect(await readFile(join(here.work, "made.txt"), "utf8")).toBe("from a chat model");
    expect(upstream.requests).toHaveLength(2);
    const messages = upstream.requests[1]?.body["messages"] as Body[] | undefined;
    const result = messages?.at(-1);
    expect(result).toMatchObject({ role: "tool", tool_call_id: "call_1" });
    expect(JSON.stringify(result)).toContain("from a chat model");
    expect(served.turns().map((turn) => turn.outcome)).toEqual(["completed", "completed"]);
  });
});
