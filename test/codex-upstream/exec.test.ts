import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { exec, codexFolder } from "../codex/codex.ts";
import { answerInResponses } from "../support/fake-model.ts";
import type { Body } from "../support/fake-upstream.ts";
import { missing, sharedCodex } from "./gateway.ts";

const codexWith = sharedCodex();

const patch = "*** Begin Patch\n*** Add File: made.txt\n+made\n*** End Patch\n";
const code =
  "const r = await tools.exec_command({ cmd: \"printf 'made\\n' > made.txt\" }); text(r);";

describe.skipIf(missing)("codex exec on the real codex app-server", () => {
  it.each([
    ["a patch in free text", "gpt-5.5", "apply_patch", { input: patch }],
    [
      "a command, whose name Codex keeps for itself",
      "gpt-5.5",
      "exec_command",
      { cmd: "printf 'made\\n' > made.txt" },
    ],
    ["a tool that comes in the conversation", "gpt-6.1-sol", "functions__exec", { input: code }],
  ])("runs %s", async (_, name, wanted, input) => {
    const gateway = await codexWith(({ body }, at) => {
      const offered = ((body["tools"] ?? []) as Body[]).map((tool) => tool["name"] as string);
      const called = offered.find((one) => one.startsWith(wanted)) ?? wanted;
      const made = { id: "call_1", name: called, arguments: JSON.stringify(input) };
      return answerInResponses(body, at === 0 ? { calls: [made] } : { text: "Done." });
    });
    await using here = await codexFolder({ url: gateway.served.url, model: name });
    expect(await exec(here, "Do it.")).toEqual({ code: 0, said: "Done." });
    expect(await readFile(join(here.work, "made.txt"), "utf8")).toBe("made\n");
    // The results were brought to the thread that had made the call.
    const threads = gateway.model.requests.map(({ body }) => body["prompt_cache_key"] as string);
    expect([threads.length, new Set(threads).size]).toEqual([2, 1]);
  });
});
