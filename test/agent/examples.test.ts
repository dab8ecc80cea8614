import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { missing } from "../codex-upstream/gateway.ts";
import { compileCache } from "../support/compile-cache.ts";

const folder = fileURLToPath(new URL("../../examples/", import.meta.url));

it.skipIf(missing)(
  "the example of progressive disclosure runs, and finds what it asserts",
  async () => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [`${folder}progressive-disclosure.ts`],
      { env: { ...process.env, ...compileCache } },
    );
    expect(stdout.trim().split("\n")).toEqual([
      "chat: two tools were added, without a restart",
      "codex: the conversation was restarted once, with what was said",
      "codex, wrap: no restart, one thread",
    ]);
  },
);
