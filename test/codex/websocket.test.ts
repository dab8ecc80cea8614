import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { answerInChat } from "../support/fake-model.ts";
import { fakeUpstream, type Body, type Model } from "../support/fake-upstream.ts";
import { onto, serve } from "../support/serve.ts";
import { exec, missing, codexFolder } from "./codex.ts";

const COMMANDS = 3;

/** Runs a few commands in the shell that Codex offers, then says that it is done. */
const shellThenDone: Model = ({ body }) => {
  const results = (body["messages"] as Body[]).filter((message) => message["role"] === "tool");
  if (results.length >= COMMANDS) return answerInChat(body, { text: "The file is there." });
  const tools = (body["tools"] as Body[]).map((tool) => tool["function"] as Body);
  const shell = tools.find((tool) => "cmd" in (tool["parameters"]?.properties ?? {}));
  const id = `call_${results.length}`;
  const input = JSON.stringify({ cmd: `printf '${id} ' >> made.txt` });
  return answerInChat(body, { calls: [{ id, name: shell?.["name"], arguments: input }] });
};

describe.skipIf(missing)("codex exec over a WebSocket", () => {
  it.each(["some-model", "gpt-5.5"])("runs commands when asked as %s", async (model) => {
    await using upstream = await fakeUpstream(shellThenDone);
    await using served = await serve(onto("chat", upstream.url));
    const more = "supports_websockets = true\n";
    await using here = await codexFolder({ url: served.url, model, more });

    expect(await exec(here, "Make the file.")).toEqual({ code: 0, said: "The file is there." });

    expect(await readFile(join(here.work, "made.txt"), "utf8")).toBe("call_0 call_1 call_2 ");
    // Each request of the upstream has the whole conversation, whatever Codex sent of it.
    const results = upstream.requests.map(
      ({ body }) => (body["messages"] as Body[]).filter(({ role }) => role === "tool").length,
    );
    expect(results).toEqual([0, 1, 2, 3]);
    // It makes its first request ready without an answer, which it does over a WebSocket alone.
    expect(served.turns().length).toBeGreaterThan(upstream.requests.length);
    expect(served.happenings.filter(({ type }) => type === "refusal")).toEqual([]);
  });
});
