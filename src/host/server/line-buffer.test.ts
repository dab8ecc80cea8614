import { execFileSync } from "node:child_process";
import { mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LineBuffer } from "./line-buffer.ts";

let directory = "";
beforeEach(() => void (directory = mkdtempSync(join(tmpdir(), "patchbay-gathered-"))));
afterEach(() => rmSync(directory, { recursive: true }));

describe("gathered lines", () => {
  it("are all in the file when it is let go of, also while some are being written", () => {
    const file = join(directory, "lines");
    const lines = new LineBuffer(openSync(file, "a"));
    // So many that they are written in the background at once.
    lines.add(`${"x".repeat(70_000)}\n`);
    lines.add("the last one\n");
    lines.close();
    // A process may end before what is in the background does.
    expect(readFileSync(file, "utf8")).toContain("the last one\n");
  });

  it("keep their order over several writes", async () => {
    const file = join(directory, "lines");
    const lines = new LineBuffer(openSync(file, "a"));
    const all = Array.from({ length: 100 }, (_, at) => `${at}${"x".repeat(at * 100)}\n`);
    for (const line of all) {
      lines.add(line);
      await setImmediate();
    }
    while (!readFileSync(file, "latin1").endsWith(all.at(-1) ?? "")) await setImmediate();
    lines.close();
    expect(readFileSync(file, "latin1")).toBe(all.join(""));
  });

  it("begin a new line where one was cut off for want of room", () => {
    const file = join(directory, "lines");
    const script = `
      import { openSync, truncateSync } from "node:fs";
      import { LineBuffer } from ${JSON.stringify(join(import.meta.dirname, "line-buffer.ts"))};
      const file = ${JSON.stringify(file)};
      const awake = setTimeout(() => {}, 10_000);
      const lines = new LineBuffer(openSync(file, "a"), () => {
        clearTimeout(awake);
        truncateSync(file, 900);
        lines.add("c\\n");
        setImmediate(() => lines.close());
      });
      lines.add("a".repeat(600) + "\\n" + "b".repeat(600) + "\\n");
    `;
    const limited = `ulimit -f 1; exec "$0" --input-type=module-typescript -e "$1"`;
    execFileSync("bash", ["-c", limited, process.execPath, script]);
    const written = readFileSync(file, "utf8").split("\n");
    expect(written.map((line) => line.slice(-1))).toEqual(["a", "b", "c", ""]);
  });
});
