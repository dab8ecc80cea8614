import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { loadConfig } from "../../src/host/config/load.ts";
import { compileCache } from "../support/compile-cache.ts";
import { serve } from "../support/serve.ts";

const root = join(import.meta.dirname, "../..");
const read = (page: string): string => readFileSync(join(root, page), "utf8");
const docs = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"));
const pages = ["README.md", ...docs.map((name) => `docs/${name}`)];

const yamls = (page: string): string[] =>
  [...read(page).matchAll(/^```yaml\n(.*?)^```/gms)].map(([, text = ""]) => text);
const configured = pages.flatMap((page) =>
  yamls(page)
    .filter((text) => /^upstreams:/m.test(text))
    .map((text, at) => ({ page, at, text })),
);

const folder = mkdtempSync(join(tmpdir(), "patchbay-readme-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("what a reader copies", () => {
  it.each(configured)("configuration $at of $page has no problems", ({ page, text }) => {
    for (const other of yamls(page)) {
      const [, name] = /^# (\S+\.yaml)\n/.exec(other) ?? [];
      if (name !== undefined) writeFileSync(join(folder, name), other);
    }
    const file = join(folder, "copied.yaml");
    writeFileSync(file, text);
    const names = [...text.matchAll(/\$\{(\w+)/g)].map(([, name = ""]) => name);
    const env = Object.fromEntries(names.map((name) => [name, "some-key"]));
    const loaded = loadConfig({ file, env, directory: folder });
    expect(loaded.ok ? [] : loaded.findings).toEqual([]);
  });

  it("and the first request, which makes two calls", async () => {
    const [, body = ""] = /curl .*? -d '(.*?)'\n```/s.exec(read("README.md")) ?? [];
    await using served = await serve({});
    const response = await fetch(`${served.url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    expect(await response.json()).toMatchObject({
      choices: [
        {
          message: {
            tool_calls: [
              { function: { name: "get_weather", arguments: '{"city":"Paris"}' } },
              { function: { name: "get_weather", arguments: '{"city":"London"}' } },
            ],
          },
        },
      ],
    });
  });

  it("and the library's first example, which says hello", async () => {
    const [, example = ""] = /^```ts\n(.*?)^```/ms.exec(read("docs/library.md")) ?? [];
    const file = join(folder, "example.ts");
    const entry = pathToFileURL(join(root, "src/index.ts")).href;
    writeFileSync(file, example.replace('"patchbay"', JSON.stringify(entry)));
    const { stdout } = await promisify(execFile)(process.execPath, [file], {
      env: { ...process.env, ...compileCache },
    });
    expect(JSON.parse(stdout)).toMatchObject({
      status: "completed",
      output: [{ content: [{ text: "Hello." }] }],
    });
  });

  it("runs from a clone: every command of ours is one of npm's scripts", () => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    for (const page of [...pages, "CONTRIBUTING.md"]) {
      expect(read(page)).not.toMatch(/^npx patchbay/m);
      for (const [, name = ""] of read(page).matchAll(/npm run ([\w:]+)/g))
        expect(Object.keys(scripts)).toContain(name);
    }
  });
});
