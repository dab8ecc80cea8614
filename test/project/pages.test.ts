import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { parse as parseYaml } from "yaml";
import { program } from "../../cli/cli.ts";
import { loadConfig } from "../../src/host/config/load.ts";
import { openTerminal } from "../terminal/terminal.ts";
import { type Block, blocks, blocksIn, inLanguage, pages, read, root } from "./blocks.ts";
import { linksIn, missingTargets } from "./links.ts";

describe("the pages", () => {
  it("link to pages and headings that exist", () => {
    const missing = pages.flatMap((page) => missingTargets(root, page));
    expect(missing).toEqual([]);
    expect(pages.flatMap((page) => linksIn(read(page))).length).toBeGreaterThan(150);
  });

  it("name scripts of npm that exist", () => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    for (const page of pages)
      for (const [, name = ""] of read(page).matchAll(/npm run ([\w:]+)/g))
        expect([page, ...Object.keys(scripts)]).toContain(name);
  });

  it("have blocks in languages that are tested", () => {
    const known = new Set(["", "sh", "yaml", "json", "ts", "js", "toml", "mermaid"]);
    expect(blocks.filter(({ language }) => !known.has(language))).toEqual([]);
  });
});

const sections =
  /^(?:server|upstreams|models|tools|store|telemetry|recording|prices|limits|console):/m;

describe("a block of YAML or JSON", () => {
  const isConfiguration = ({ text }: Block): boolean => sections.test(text);
  const yaml = inLanguage("yaml");

  it.each(yaml.filter((block) => !isConfiguration(block)))("$at of $page parses", ({ text }) => {
    expect(parseYaml(text)).toBeTypeOf("object");
  });

  it.each(yaml.filter(isConfiguration))("$at of $page has no problems", ({ page, text }) => {
    const folder = mkdtempSync(join(root, ".cache-pages-"));
    try {
      for (const { text: other } of blocksIn(page)) {
        const [, name] = /^# (\S+\.yaml)\n/.exec(other) ?? [];
        if (name !== undefined) writeFileSync(join(folder, name), other);
      }
      const file = join(folder, "copied.yaml");
      writeFileSync(file, text);
      const names = [...text.matchAll(/\$\{(\w+)/g)].map(([, name = ""]) => name);
      const env = Object.fromEntries(names.map((name) => [name, `some-${name}`]));
      const loaded = loadConfig({ file, env, directory: folder });
      expect(
        loaded.ok ? [] : loaded.findings.filter(({ message }) => !needsOtherParts(message)),
      ).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it.each(inLanguage("json"))("$at of $page parses", ({ text }) => {
    expect(JSON.parse(text)).toBeTypeOf("object");
  });

  it.each(inLanguage("toml"))("$at of $page has tables and settings alone", ({ text }) => {
    const line = /^(?:#.*|\[[\w.]+\]|\w+ = (?:"[^"]*"|\d+|true|false)(?:\s+#.*)?|)$/;
    expect(text.split("\n").filter((one) => !line.test(one))).toEqual([]);
  });
});

/** True for a problem of an excerpt that names an upstream of another block. */
const needsOtherParts = (message: string): boolean =>
  /no upstream|not an upstream|names none/.test(message);

/** The commands of shell blocks, without comments, variables and continued lines. */
const commands = inLanguage("sh").flatMap(({ page, text }) =>
  text
    .replaceAll("\\\n", " ")
    .split("\n")
    .map((line) => line.replace(/(?:^| +)# .*$/, "").trim())
    .filter((line) => /^(?:npm run )?patchbay\b/.test(line))
    .map((line) => ({ page, line })),
);

/** The words of a command line, with quotes removed. */
const wordsOf = (line: string): string[] =>
  [...line.replace(/^npm run patchbay --/, "patchbay").matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)]
    .map(([, double, single, plain]) => double ?? single ?? plain ?? "")
    .slice(1);

describe("a shell command in the pages", () => {
  it.each(commands)("of $page is one of ours: $line", ({ line }) => {
    const [name = "", ...args] = wordsOf(line);
    if (name === "") return;
    const command = program.commands.find((one) => one.name() === name);
    expect(command).toBeDefined();
    const own = args.includes("--") ? args.slice(0, args.indexOf("--")) : args;
    const flags = new Set(command?.options.flatMap(({ short, long }) => [short, long]));
    expect(own.filter((word) => /^--?\w/.test(word) && !flags.has(word))).toEqual([]);
  });

  it("runs against the demo in a temporary home", { timeout: 120_000 }, async () => {
    await using terminal = openTerminal();
    const file = terminal.configure(
      "upstreams: { demo: { dialect: scripted } }\nmodels: { '*': demo/demo, gpt-5.5: demo/demo }\n",
    );
    const gateway = await terminal.open(file);
    terminal.write("request.json", '{"model":"gpt-5.5","input":"Hi"}');
    const runnable = /^(?:check|plan|smoke|status|health|trust|logs)$/;
    const lines = [...new Set(commands.map(({ line }) => line))];
    for (const line of lines) {
      const words = wordsOf(line).map((word) =>
        word.replace("http://127.0.0.1:11435", gateway.url),
      );
      const [name = ""] = words;
      // A cap of one call is a setting of its own; the demo here makes two.
      if (!runnable.test(name) || words.includes("--at-most") || words.includes("--follow"))
        continue;
      if (words.some((word) => /^(?:ID|-f|qwen3:8b|https:.*|\[.*)$/.test(word))) continue;
      if (name === "smoke" && !words.includes("--url")) words.push("--url", gateway.url);
      const { code, errors, out } = await terminal.patchbay(...words);
      expect({ line, code, said: code === 0 ? "" : out + errors }).toEqual({
        line,
        code: 0,
        said: "",
      });
    }
  });

  it("by curl has the answer that the README shows", async () => {
    await using terminal = openTerminal();
    const gateway = await terminal.open(undefined);
    const requests = inLanguage("sh").flatMap(({ page, text }) =>
      [...text.matchAll(/curl (\S+) .*? -d '([\s\S]*?)'\n/g)].map(([, url = "", body = ""]) => ({
        page,
        url,
        body,
      })),
    );
    expect(requests.length).toBeGreaterThan(1);
    for (const { url, body } of requests) {
      const response = await fetch(url.replace("http://127.0.0.1:11435", gateway.url), {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
      });
      expect(response.headers.get("x-patchbay-plan")).toBe(
        "native=1 degraded=0 deferred=0 ignored=0",
      );
      const shown = inLanguage("json").find(({ page }) => page === "README.md");
      const { choices } = JSON.parse(shown?.text ?? "{}") as Answer;
      const answer = (await response.json()) as Answer;
      expect(answer.choices[0]?.finish_reason).toBe(choices[0]?.finish_reason);
      expect(answer.choices[0]?.message.tool_calls.map((call) => call.function)).toEqual(
        choices[0]?.message.tool_calls.map((call) => call.function),
      );
    }
  });
});

type Answer = {
  readonly choices: readonly {
    readonly finish_reason: string;
    readonly message: { readonly tool_calls: readonly { readonly function: object }[] };
  }[];
};

it("the first example of embedding says hello", async () => {
  const example = inLanguage("ts").find(({ page }) => page === "docs/guides/embedding.md");
  const folder = mkdtempSync(join(root, ".cache-example-"));
  try {
    const file = join(folder, "example.ts");
    const entry = relative(folder, join(root, "src/index.ts"));
    writeFileSync(file, (example?.text ?? "").replace('"patchbay"', JSON.stringify(entry)));
    const { stdout } = await promisify(execFile)(process.execPath, [file]);
    expect(JSON.parse(stdout)).toMatchObject({
      status: "completed",
      output: [{ content: [{ text: "Hello." }] }],
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it("the README fits into three minutes", () => {
  expect(read("README.md").split("\n").length).toBeLessThanOrEqual(131);
  expect(existsSync(join(root, "docs/picture.svg"))).toBe(true);
});
