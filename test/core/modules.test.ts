import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { readModule, walkModules } from "../support/module-graph.ts";

const source = fileURLToPath(new URL("../../src/", import.meta.url));
const core = `${source}core.ts`;

describe("the core entry", () => {
  it("reaches no built-in and no package of Node", () => {
    const { files, problems } = walkModules(core);
    expect(problems).toEqual([]);
    expect(files).toEqual(
      expect.arrayContaining([`${source}gateway/gateway.ts`, `${source}upstreams/http/http.ts`]),
    );
    expect(files.filter((file) => /\/undici\/|upstreams\/codex\//.test(file))).toEqual([]);
  });

  it.each([
    ['import { readFileSync } from "node:fs";', "imports node:fs"],
    ['import "fs";', "imports fs"],
    ['export * from "node:path";', "imports node:path"],
    ['const { hash } = await import("node:crypto");', "imports node:crypto"],
    ['import { Pool } from "undici";', "imports node:"],
    ['const bytes = Buffer.from("text");', "uses Buffer"],
    ["process.exit();", "uses process"],
  ])("is found out where some module below it says `%s`", (line, problem) => {
    const deep = `${source}stream/sse.ts`;
    const { problems } = walkModules(core, (path) =>
      path === deep ? `${readModule(path)}\n${line}` : readModule(path),
    );
    expect(problems.join("\n")).toContain(problem);
  });

  it("is not the Node entry, which reaches sockets and processes", () => {
    expect(walkModules(`${source}index.ts`).problems.join("\n")).toContain("node:child_process");
  });
});
