import {
  chmodSync,
  chownSync,
  copyFileSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseConfig } from "../../src/gateway/config.ts";
import { nodePlatform } from "../../src/host/platform/node.ts";
import { openRecorded } from "../../src/host/server/turn-files.ts";
import type { Happening } from "../../src/observe/happening.ts";
import { openTerminal } from "../terminal/terminal.ts";

const sound = join(import.meta.dirname, "../bundles/responses-on-chat.bundle.jsonl");
const BUNDLE = "2026-11-16T03-24-26-763Z-turn.bundle.jsonl";

let state = "";
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), "patchbay-folders-"));
});
afterEach(() => rmSync(state, { recursive: true, force: true }));

const around = (): string => join(state, "patchbay");
const folder = (): string => join(around(), "recordings");
const make = (path: string, mode = 0o700): void => {
  mkdirSync(path);
  chmodSync(path, mode);
};

/** What another user may have put in place of the folder, and what is said of it. */
const places: readonly (readonly [string, () => void, string])[] = [
  [
    "that others may write",
    () => (make(around()), make(folder(), 0o777)),
    "recordings can be changed by other users",
  ],
  [
    "in a folder that others may write",
    () => (make(around(), 0o777), make(folder())),
    "patchbay can be changed by other users",
  ],
  [
    "that is a link",
    () => {
      make(around());
      make(join(state, "elsewhere"));
      symlinkSync(join(state, "elsewhere"), folder());
    },
    "recordings is not a folder",
  ],
  ...(process.getuid?.() === 0
    ? ([
        [
          "of another user",
          () => (make(around()), make(folder()), chownSync(folder(), 12_345, 12_345)),
          "recordings belongs to another user",
        ],
        [
          "in a folder of another user",
          () => (make(around()), make(folder()), chownSync(around(), 12_345, 12_345)),
          "patchbay belongs to another user",
        ],
        [
          "behind a link of another user",
          () => {
            make(join(state, "own"));
            symlinkSync(join(state, "own"), around());
            make(folder());
            lchownSync(around(), 12_345, 12_345);
          },
          "patchbay is a link of another user",
        ],
      ] as const)
    : []),
];

describe.skipIf(process.platform === "win32")("a folder of recordings", { timeout: 60_000 }, () => {
  /** Records a turn, and tells what there is to tell. */
  async function record(recording = {}): Promise<readonly string[]> {
    const happenings: Happening[] = [];
    const config = parseConfig({ telemetry: { recording: "all" }, recording });
    await using gateway = openRecorded(config, {
      ...nodePlatform((happening) => void happenings.push(happening)),
      environment: { XDG_STATE_HOME: state },
    });
    const request = new Request("http://127.0.0.1/v1/chat/completions", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "demo", messages: [{ role: "user", content: "Hello" }] }),
    });
    await (await gateway.fetch(request)).text();
    await gateway.recorder.settled();
    return happenings.flatMap((one) =>
      one.type === "unwritable" ? [`${one.path} ${one.problem}`] : [],
    );
  }
  const written = (): readonly string[] =>
    readdirSync(state, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith(".bundle.jsonl"),
    );

  it("is made for its owner alone", async () => {
    expect(await record()).toEqual([]);
    for (const path of [around(), folder()]) expect(lstatSync(path).mode & 0o777).toBe(0o700);
    expect(written()).toHaveLength(1);
  });

  it.each(places)("%s gets no turn", async (_, put, problem) => {
    put();
    const [told = "", ...more] = await record();
    expect(more).toEqual([]);
    expect(told).toContain(problem);
    expect(told).toContain("`recording.folder`");
    expect(written()).toEqual([]);
  });

  it.each(places)("%s is not read", async (_, put, problem) => {
    await using terminal = openTerminal();
    put();
    copyFileSync(sound, join(folder(), BUNDLE));
    for (const command of ["explain", "replay", "bundle"]) {
      const env = { XDG_STATE_HOME: state };
      const { code, out, errors } = await terminal.patchbayWith(env, command, "turn");
      expect({ code, out }).toEqual({ code: 2, out: "" });
      expect(errors).toContain(problem);
    }
  });

  it("holds no files that are links or that others may write", async () => {
    await using terminal = openTerminal();
    make(around());
    make(folder());
    const file = join(folder(), BUNDLE);
    const env = { XDG_STATE_HOME: state };
    copyFileSync(sound, file);
    chmodSync(file, 0o600);
    expect(await terminal.patchbayWith(env, "explain", "turn")).toMatchObject({ code: 0 });
    chmodSync(file, 0o666);
    const open = await terminal.patchbayWith(env, "explain", "turn");
    expect(open).toMatchObject({ code: 2, out: "" });
    expect(open.errors).toContain("cannot be read because it can be changed by other users");
    rmSync(file);
    symlinkSync(sound, file);
    expect(await terminal.patchbayWith(env, "explain", "turn")).toMatchObject({ code: 2, out: "" });
  });

  it("among temporary files is looked at in the same way", async () => {
    await using terminal = openTerminal();
    const own = join(state, `patchbay-${process.getuid?.()}`);
    make(own, 0o777);
    make(join(own, "recordings"));
    copyFileSync(sound, join(own, "recordings", BUNDLE));
    // Without a home there is no state directory.
    const env = { HOME: "none", TMPDIR: state };
    const { code, out, errors } = await terminal.patchbayWith(env, "replay", "turn");
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(errors).toContain(`${own} can be changed by other users`);
  });

  it("that the configuration names is the operator's to choose", async () => {
    const shared = join(state, "shared");
    make(shared, 0o777);
    expect(await record({ folder: shared })).toEqual([]);
    expect(written()).toHaveLength(1);
  });
});
