import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { LaunchAgent, Lasting } from "../agent.ts";
import { agents, findAgent } from "../agents.ts";
import { keepAgent, restoreAgent, restoredLines } from "./keep.ts";

const to: Lasting = {
  url: "http://127.0.0.1:11435",
  key: "canary-key",
  model: "large-model",
  small: "small-model",
  models: ["large-model", "small-model"],
  context: 128_000,
};
const bundled = JSON.stringify({ models: [{ slug: "a", base_instructions: "A" }] });

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function homeOf(agent: LaunchAgent, text?: string) {
  const home = mkdtempSync(join(tmpdir(), "patchbay-keep-"));
  folders.push(home);
  const env = { HOME: home, XDG_STATE_HOME: join(home, "state") };
  const file = agent.keeping?.file({ home, env }) ?? "";
  if (text !== undefined) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { mode: 0o640 });
  }
  const keep = () => keepAgent(agent, to, { env, output: () => Promise.resolve(bundled) });
  return { home, env, file, keep, restore: () => restoreAgent(agent, env)[0] };
}

/** Settings that name another place, as each agent's users have them. */
const hostile: Readonly<Record<string, string>> = {
  codex: `# mine\nmodel = "gpt-9"\nmodel_provider = "other"\n\n[model_providers.other]\nname = "Other"\n`,
  claude: `{\n\t"env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"},\r\n\t"model": "opus"}`,
  opencode: `{\n  // mine\n  "model": "other/m", "provider": {"other": {},},\n}\n`,
  qwen: `{"$version": 4, /* mine */ "security": {"auth": {"selectedType": "anthropic"}}}\n`,
  cline: `{"version":1,"lastUsedProvider":"anthropic","providers":{"anthropic":{}}}`,
  continue: `name: Mine\nmodels:\n- name: Other\n  provider: openai\n`,
  aider: `# mine\nmodel: openai/other\nread: [A.md]\n`,
  gemini: `# mine\nGEMINI_API_KEY="mine" # old\nexport GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:9\nA='b\nc'\n`,
};

describe.each(agents.filter(({ keeping }) => keeping !== undefined))("$name", (agent) => {
  const text = hostile[agent.name] ?? "";

  it("is pointed at the gateway by its settings, and they are put back to the byte", async () => {
    const { file, home, keep, restore } = homeOf(agent, text);
    expect((await keep()).file).toBe(file);
    const now = readFileSync(file, "utf8");
    expect(now).toContain("127.0.0.1:11435");
    expect(now).toContain("large-model");
    expect(restore()).toEqual({ outcome: "put back", file, gone: false });
    expect(readFileSync(file, "utf8")).toBe(text);
    expect(statSync(file).mode & 0o777).toBe(0o640);
    expect(existsSync(join(home, "state/patchbay/launch", agent.name))).toBe(false);
    expect(restore()).toEqual({ outcome: "nothing" });
  });

  it("has no settings again where it had none, nor their folders", async () => {
    const { file, home, keep, restore } = homeOf(agent);
    await keep();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(restore()).toMatchObject({ outcome: "put back", gone: true });
    const [top = ""] = file.slice(home.length + 1).split("/");
    expect(existsSync(join(home, top))).toBe(false);
  });

  it("loses our entries alone where the file has changed since", async () => {
    const { file, keep, restore } = homeOf(agent, text);
    await keep();
    const more = agent.keeping?.format.startsWith("json") === true ? "\n\n" : "\n# since\n";
    writeFileSync(file, readFileSync(file, "utf8") + more);
    expect(restore()).toMatchObject({ outcome: "taken out", left: [] });
    expect(readFileSync(file, "utf8")).toBe(text + more);
  });

  it("is kept twice, and the backup is still the user's own", async () => {
    const { file, keep, restore } = homeOf(agent, text);
    await keep();
    await keep();
    restore();
    expect(readFileSync(file, "utf8")).toBe(text);
  });
});

describe("settings that are kept", () => {
  const codex = findAgent("codex");
  const text = hostile["codex"] ?? "";

  it("say how to undo them, and have their key in no file that others can read", async () => {
    const { file, keep } = homeOf(codex, text);
    const { notes } = await keep();
    expect(notes.join(" ")).toContain("patchbay launch codex --restore");
    expect(readFileSync(file, "utf8")).toContain("undo: patchbay launch codex --restore");
    expect(readFileSync(file, "utf8")).not.toContain("canary-key");
    const claude = homeOf(findAgent("claude"), hostile["claude"]);
    await claude.keep();
    expect(readFileSync(claude.file, "utf8")).toContain("canary-key");
    expect(statSync(claude.file).mode & 0o777).toBe(0o600);
  });

  it("leave the catalog of models behind no longer than the settings name it", async () => {
    const { home, keep, restore } = homeOf(codex, text);
    await keep();
    const catalog = join(home, ".codex/patchbay-models.json");
    expect(readFileSync(catalog, "utf8")).toContain("large-model");
    restore();
    expect(existsSync(catalog)).toBe(false);
  });

  it("are undone by their marks where the journal is lost", async () => {
    for (const name of ["codex", "opencode", "qwen", "aider", "continue"]) {
      const { file, env, keep, restore } = homeOf(findAgent(name), hostile[name]);
      await keep();
      rmSync(env.XDG_STATE_HOME, { recursive: true });
      expect(restore()).toMatchObject({ outcome: "taken out", left: [] });
      expect(readFileSync(file, "utf8")).not.toMatch(/patchbay|large-model/i);
      expect(restore()).toEqual({ outcome: "nothing" });
    }
  });

  it("of somebody's own hand are no settings of ours", () => {
    const own = `[model_providers.patchbay]\nbase_url = "http://127.0.0.1:11435/v1"\n`;
    const { file, restore } = homeOf(codex, own);
    expect(restore()).toEqual({ outcome: "nothing" });
    expect(readFileSync(file, "utf8")).toBe(own);
  });

  it("are written through a link, which stays one", async () => {
    const { home, file, keep, restore } = homeOf(codex, text);
    const real = join(home, "dotfiles.toml");
    writeFileSync(real, text);
    rmSync(file);
    symlinkSync(real, file);
    await keep();
    expect(readFileSync(real, "utf8")).toContain("127.0.0.1:11435");
    restore();
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
    expect(readFileSync(real, "utf8")).toBe(text);
  });

  it("are undone where the process was killed before they were written, or the file is gone", async () => {
    const { file, keep, restore } = homeOf(codex, text);
    await keep();
    writeFileSync(file, text);
    expect(restore()).toMatchObject({ outcome: "put back" });
    await keep();
    rmSync(file);
    expect(restore()).toEqual({ outcome: "nothing" });
  });

  it("are named, with the backup, where the file can no longer be read", async () => {
    const claude = findAgent("claude");
    const { file, keep, restore } = homeOf(claude, hostile["claude"]);
    await keep();
    writeFileSync(file, "{ broken");
    const restored = restore();
    const lines = restoredLines(
      claude,
      [restored].flatMap((one) => one ?? []),
    ).join("\n");
    expect(lines).toMatch(/is not JSON: see line 1.*\n.*env\.ANTHROPIC_BASE_URL.*\n.*backup/);
    expect(readFileSync(file, "utf8")).toBe("{ broken");
  });

  it("are not written where they cannot be, and nothing is changed", async () => {
    const broken = homeOf(findAgent("claude"), "[]");
    await expect(broken.keep()).rejects.toThrow(/settings\.json is not JSON.*Nothing was changed/);
    const { file, keep } = homeOf(codex, text);
    rmSync(dirname(file), { recursive: true });
    writeFileSync(dirname(file), "a file");
    await expect(keep()).rejects.toThrow(/config\.toml cannot be written/);
    await expect(
      keepAgent(findAgent("goose"), to, { env: {}, output: () => Promise.resolve("") }),
    ).rejects.toThrow("`--keep` does not support goose");
    await expect(
      keepAgent(codex, to, { env: { HOME: "" }, output: () => Promise.resolve("") }),
    ).rejects.toThrow("no home directory");
  });

  it.skipIf(process.getuid?.() === 0)("say so in a home that is read-only", async () => {
    const { home, file, keep } = homeOf(codex, text);
    for (const folder of [file, dirname(file)]) chmodSync(folder, 0o500);
    await expect(keep()).rejects.toThrow("you may not write there");
    chmodSync(dirname(file), 0o700);
    expect(readFileSync(file, "utf8")).toBe(text);
    chmodSync(home, 0o700);
  });
});

describe("settings in two files", () => {
  const gemini = findAgent("gemini");
  const own = `{\n  // mine\n  "security": {"auth": {"selectedType": "oauth-personal"}}\n}\n`;

  function twoFiles(settings: string) {
    const { home, env, file, keep } = homeOf(gemini, hostile["gemini"]);
    const other = join(home, ".gemini", "settings.json");
    writeFileSync(other, settings);
    const now = () => [file, other].map((one) => readFileSync(one, "utf8"));
    return { env, file, other, keep, now, before: now() };
  }

  it("are changed together and put back together, each to the byte", async () => {
    const { env, file, other, keep, now, before } = twoFiles(own);
    const kept = await keep();
    expect(kept).toMatchObject({ file, also: [other] });
    expect(now()[0]).toContain("GEMINI_API_KEY=canary-key\n");
    expect(now()[1]).toContain('"gemini-api-key"');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const restored = restoreAgent(gemini, env);
    expect(restored.map(({ outcome }) => outcome)).toEqual(["put back", "put back"]);
    expect(restoredLines(gemini, restored)).toHaveLength(2);
    expect(now()).toEqual(before);
  });

  it("are taken out of the file that has changed since, and put back in the other", async () => {
    const { env, other, keep, now, before } = twoFiles(own);
    await keep();
    writeFileSync(other, readFileSync(other, "utf8").replace("}\n}", `},\n  "ui": {}\n}`));
    expect(restoreAgent(gemini, env).map(({ outcome }) => outcome)).toEqual([
      "put back",
      "taken out",
    ]);
    expect(now()[0]).toBe(before[0]);
    expect(now()[1]).toContain(`"selectedType": "oauth-personal"}},\n  "ui": {}`);
  });

  it("stay as they are if one of them cannot be changed", async () => {
    const { keep, now, before } = twoFiles("[]");
    await expect(keep()).rejects.toThrow(/settings\.json is not JSON.*Nothing was changed/);
    expect(now()).toEqual(before);
  });
});
