import { mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Gathered } from "./gathered.ts";

let directory = "";
beforeEach(() => void (directory = mkdtempSync(join(tmpdir(), "patchbay-gathered-"))));
afterEach(() => rmSync(directory, { recursive: true }));

describe("gathered lines", () => {
  it("are all in the file when it is let go of, also while some are being written", () => {
    const file = join(directory, "lines");
    const lines = new Gathered(openSync(file, "a"));
    // So many that they are written in the background at once.
    lines.add(`${"x".repeat(70_000)}\n`);
    lines.add("the last one\n");
    lines.close();
    // A process may end before what is in the background does.
    expect(readFileSync(file, "utf8")).toContain("the last one\n");
  });
});
