import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { delimiter } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { missing } from "../codex-upstream/gateway.ts";
import { compileCache } from "../support/compile-cache.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const run = promisify(execFile);

const script = `${root}scripts/example.ts`;

/** Runs an example without npm, which takes longer to start than most of them. */
async function example(name: string): Promise<string> {
  const env = { ...process.env, ...compileCache };
  const { stdout } = await run(process.execPath, [script, name], { cwd: root, env });
  return stdout.trim();
}

/** Runs the documented command as in a shell, whose own Node may be an older one. */
async function documented(name: string): Promise<string> {
  const path = (process.env["PATH"] ?? "")
    .split(delimiter)
    .filter((folder) => !folder.includes("node_modules"));
  const env = { ...process.env, ...compileCache, PATH: path.join(delimiter) };
  const args = ["run", "--silent", "example", "--", name];
  const { stdout } = await run("npm", args, { cwd: root, env });
  return stdout.trim();
}

describe.skipIf(process.platform === "win32")("npm run example", { timeout: 120_000 }, () => {
  it.each([
    ["own-upstream", "own upstream: a call and a text, at both doors"],
    ["redacting-stage", "redacting stage: no key came through, however the answer was cut"],
    ["own-profile", "own profile: the plan goes by it, and by the model"],
  ])("runs %s, which finds what it asserts", async (name, said) => {
    expect(await example(name)).toBe(said);
  });

  it.skipIf(missing)("runs progressive-disclosure, which finds what it asserts", async () => {
    expect((await example("progressive-disclosure")).split("\n")).toEqual([
      "chat: two tools were added, without a restart",
      "codex: the conversation was restarted once, with what was said",
      "codex, wrap: no restart, one thread",
    ]);
  });

  it("is named by every example, and names them all if there is no such one", async () => {
    const names = readdirSync(`${root}examples`).flatMap(
      (file) => /^(.*)\.ts$/.exec(file)?.[1] ?? [],
    );
    for (const name of names)
      expect(readFileSync(`${root}examples/${name}.ts`, "utf8")).toContain(
        `npm run example -- ${name}`,
      );
    const failed: unknown = await documented("nothing").catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: 2, stderr: expect.stringContaining(names.join(", ")) });
  });
});
