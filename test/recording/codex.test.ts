import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { missing } from "../codex/codex.ts";
import { compileCache } from "../support/compile-cache.ts";

const here = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

it.skipIf(missing)(
  "a turn of the real Codex is recorded, explained and replayed the same",
  () => {
    const root = mkdtempSync(join(tmpdir(), "patchbay-record-codex-"));
    const home = join(root, "codex");
    mkdirSync(home);
    const run = (...args: string[]) =>
      spawnSync(process.execPath, [here("cli/cli.ts"), ...args], {
        cwd: root,
        encoding: "utf8",
        input: "",
        env: {
          ...compileCache,
          PATH: [here("node_modules/.bin"), dirname(process.execPath), process.env["PATH"]].join(
            delimiter,
          ),
          HOME: root,
          CODEX_HOME: home,
          XDG_STATE_HOME: root,
          PATCHBAY_RUNTIME_DIR: join(root, "run"),
        },
      });
    try {
      const recorded = run("record", "--", "codex", "exec", "--skip-git-repo-check", "Say hello");
      expect(recorded.stderr).toContain("1 turn recorded in");
      const [name = ""] = readdirSync(join(root, "patchbay", "recordings"));
      const file = join(root, "patchbay", "recordings", name);
      const explained = run("explain", file);
      expect(explained.stdout).toContain("No fault was found on either side.");
      expect(explained.status).toBe(0);
      const replayed = run("replay", file);
      expect(replayed.stdout).toContain("replays without a difference");
      expect(replayed.status).toBe(0);
      expect(run("bundle", file, "--check").stdout).toContain("No key was found.");
    } finally {
      rmSync(root, { recursive: true, force: true, maxRetries: 5 });
    }
  },
  120_000,
);
