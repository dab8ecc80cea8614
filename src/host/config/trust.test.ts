import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  configOf,
  directory,
  linesOf,
  load,
  makeFolder,
  removeFolder,
  write,
} from "../../../test/support/config-folder.ts";
import { findingLine } from "./config-file.ts";
import type { LoadedConfig } from "./load.ts";

beforeEach(makeFolder);
afterEach(removeFolder);
afterEach(() => vi.restoreAllMocks());

const put = (name: string, text: string): void => writeFileSync(join(directory, name), text);
const passedOver = (loaded: LoadedConfig): string[] =>
  loaded.passedOver.map((finding) => findingLine(finding).replaceAll(`${directory}/`, ""));
const trustFolder = (): string => join(directory, "home/patchbay/trusted");

const MINE = "models: { mine: demo/demo }\n";
const UNTRUSTED =
  "patchbay.yaml: is not used because you have not trusted it; it could send your keys to others and run programs: read it, then run `patchbay trust`, or name it for one run with `--config`";
const CHANGED =
  "changed since it was trusted, so it is not used; read it, then run `patchbay trust`, or name it for one run with `--config`";

describe("a configuration that is found in a folder", () => {
  it("is passed over for the user's own where it was not trusted", () => {
    put("patchbay.yaml", "models: { theirs: demo/demo }\n");
    mkdirSync(join(directory, "home/patchbay"), { recursive: true });
    put("home/patchbay/patchbay.yaml", MINE);
    const loaded = load();
    expect(Object.keys(configOf(loaded).models)).toEqual(["mine"]);
    expect(passedOver(loaded)).toEqual([UNTRUSTED]);
  });

  it("is used where it is named, and naming it once trusts it for that once", () => {
    put("patchbay.yaml", MINE);
    expect(Object.keys(configOf(load({}, { file: "patchbay.yaml" })).models)).toEqual(["mine"]);
    expect(load().file).toBeUndefined();
  });

  it("is used without trust where the folder is the user's configuration directory", () => {
    mkdirSync(join(directory, "home/patchbay"), { recursive: true });
    put("home/patchbay/patchbay.yaml", MINE);
    const loaded = load({}, { directory: join(directory, "home/patchbay") });
    expect([Object.keys(configOf(loaded).models), loaded.passedOver]).toEqual([["mine"], []]);
  });

  it("is refused once it has changed, and nothing else is used in its place", () => {
    write("patchbay.yaml", MINE);
    put("patchbay.yaml", `${MINE}# more\n`);
    expect(linesOf(load())).toEqual([`patchbay.yaml: has ${CHANGED}`]);
  });

  it.each([
    ["a script", "upstreams: { s: { dialect: scripted, script: part.yaml } }\n", "- [Hello]\n"],
    ["a value", "upstreams: { s: { dialect: chat, base_url: '${file:part.yaml}' } }\n", "http://a"],
  ])("is refused once %s that it brings along has changed", (_, config, part) => {
    put("part.yaml", part);
    write("patchbay.yaml", config);
    expect(linesOf(load())).toEqual([]);
    put("part.yaml", `${part} `);
    expect(linesOf(load())).toEqual([
      `patchbay.yaml: names ${join(directory, "part.yaml")}, which has ${CHANGED}`,
    ]);
  });

  it("stays trusted while secrets elsewhere change", () => {
    put("key", "one");
    write(
      "patchbay.yaml",
      `upstreams: { s: { dialect: chat, base_url: 'http://a', api_key: '\${file:${join(directory, "key")}}' } }\n`,
    );
    put("key", "two");
    expect(linesOf(load())).toEqual([]);
  });

  it("is taken up again by a process that runs on it only in the version that is trusted", () => {
    write("patchbay.yaml", MINE);
    const { again } = load();
    put("patchbay.yaml", "models: { other: demo/demo }\n");
    expect(linesOf(load({}, again))).toEqual([`patchbay.yaml: has ${CHANGED}`]);
    write("patchbay.yaml", "models: { other: demo/demo }\n");
    expect(Object.keys(configOf(load({}, again)).models)).toEqual(["other"]);
  });

  it("is remembered for this user alone, and by what only this user can write", () => {
    write("patchbay.yaml", MINE);
    const [name = ""] = readdirSync(trustFolder());
    const record = join(trustFolder(), name);
    expect([statSync(trustFolder()).mode & 0o777, statSync(record).mode & 0o777]).toEqual([
      0o700, 0o600,
    ]);
    chmodSync(record, 0o622);
    expect(passedOver(load())).toEqual([UNTRUSTED]);
    chmodSync(record, 0o600);
    expect(load().file).toBeDefined();
    chmodSync(trustFolder(), 0o777);
    expect(passedOver(load())[0]).toMatch(
      /because home\/patchbay\/trusted can be changed by other/,
    );
    chmodSync(trustFolder(), 0o700);
    vi.spyOn(process, "getuid").mockReturnValue(12_345);
    expect(passedOver(load())[0]).toMatch(/because home\/patchbay belongs to another user/);
  });

  it("is never waited for, whatever it is", () => {
    mkdirSync(join(directory, "patchbay.yml"));
    spawnSync("mkfifo", [join(directory, "patchbay.yaml")]);
    const loaded = load();
    expect([loaded.ok, loaded.passedOver.length]).toEqual([true, 2]);
    const again = load({}, { file: "patchbay.yaml", isAgain: true });
    expect(linesOf(again)).toEqual(["patchbay.yaml: is not a regular file; name one that is"]);
    write("patchbay.json", "upstreams: { s: { dialect: scripted, script: ./patchbay.yaml } }");
    expect(linesOf(load())[0]).toMatch(/there is no file .*patchbay\.yaml/);
  });

  it("is not looked for in folders that relative variables name", () => {
    mkdirSync(join(directory, "patchbay"));
    put("patchbay/patchbay.yaml", MINE);
    vi.spyOn(process, "cwd").mockReturnValue(directory);
    expect(load({ XDG_CONFIG_HOME: ".", HOME: "" }).file).toBeUndefined();
  });
});
