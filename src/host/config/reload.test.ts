import {
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Config } from "../../gateway/config.ts";
import type { Happening } from "../../observe/happening.ts";
import type { Clock } from "../../turn/clock.ts";
import { Fault } from "../../turn/fault.ts";
import { loadConfig } from "./load.ts";
import type { ConfigOrigin } from "./sources.ts";
import { reloader, watchFile } from "./reload.ts";

let directory = "";
let file = "";
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "patchbay-reload-"));
  file = join(directory, "patchbay.yaml");
  writeFileSync(file, "server: { port: 1, keys: [one] }\n");
});
afterEach(() => rmSync(directory, { recursive: true }));

describe("a changed configuration", () => {
  const taken: Config[] = [];
  const reported: Happening[] = [];
  const notes: string[] = [];
  let refuse: Fault | undefined;

  function start(host?: string): () => void {
    for (const list of [taken, reported, notes]) list.length = 0;
    refuse = undefined;
    const origin: ConfigOrigin = { file, host, env: {}, directory };
    const loaded = loadConfig(origin);
    if (!loaded.ok) throw new Error("a good file was expected");
    const gateway = {
      reconfigure(config: Config) {
        if (refuse !== undefined) throw refuse;
        taken.push(config);
      },
    };
    const log = {
      report: (happening: Happening) => void reported.push(happening),
      note: (text: string) => void notes.push(text),
    };
    return reloader(origin, loaded.config, gateway, log).reload;
  }

  it("is taken up and reported", () => {
    const changed = start();
    writeFileSync(file, "server: { port: 1, keys: [two] }\n");
    changed();
    expect(taken.map(({ server }) => server.keys)).toEqual([["two"]]);
    expect(reported).toEqual([{ type: "reload", ok: true, problems: [] }]);
  });

  it("is left alone when it says the same", () => {
    const changed = start();
    writeFileSync(file, "# a word of comment\nserver: { port: 1, keys: [one] }\n");
    changed();
    expect([taken, reported]).toEqual([[], []]);
  });

  it("is reported with all its problems when it is bad, and what runs stays", () => {
    const changed = start();
    writeFileSync(file, "server:\n  prot: 1\ntools:\n  strict: 5\n");
    changed();
    unlinkSync(file);
    changed();
    expect(taken).toEqual([]);
    expect(reported).toEqual([
      {
        type: "reload",
        ok: false,
        problems: [
          `${file}:2:3 server.prot: is not a known key; did you mean \`port\`?`,
          `${file}:4:3 tools.strict: must be \`true\` or \`false\`, not a number`,
        ],
      },
      {
        type: "reload",
        ok: false,
        problems: [`${file}: does not exist; check the path, or omit \`--config\``],
      },
    ]);
  });

  it("is not taken up while it says nothing: half of all editors begin with that", () => {
    const changed = start();
    for (const text of ["", "# soon\n"]) {
      writeFileSync(file, text);
      changed();
    }
    expect(taken).toEqual([]);
    const problems = [`${file}: is empty; write \`{}\` for a configuration without settings`];
    expect(reported).toEqual([
      { type: "reload", ok: false, problems },
      { type: "reload", ok: false, problems },
    ]);
    writeFileSync(file, "{}\n");
    changed();
    expect(taken).toHaveLength(1);
  });

  it("may not take the key from a door that is open to others", () => {
    const changed = start("0.0.0.0");
    writeFileSync(file, "server: { port: 1, keys: [] }\n");
    changed();
    expect(taken).toEqual([]);
    expect(reported).toMatchObject([{ ok: false }]);
  });

  it("is refused when the gateway cannot be put together from it", () => {
    const changed = start();
    refuse = new Fault("config.invalid", "No.");
    writeFileSync(file, "server: { port: 1, keys: [two] }\n");
    changed();
    expect(reported).toEqual([{ type: "reload", ok: false, problems: ["No."] }]);
  });

  it("moves no door", () => {
    const changed = start();
    writeFileSync(file, "server: { port: 2, keys: [one] }\n");
    changed();
    expect(notes).toEqual(["changes of `server.host` and `server.port` apply after a restart"]);
  });
});

describe("watching a file", () => {
  /** Waits for nothing: what is due later is due on the next turn of the loop. */
  const prompt: Clock = {
    now: () => 0,
    date: () => 0,
    at(_moment, then) {
      const soon = setImmediate(then);
      return () => clearImmediate(soon);
    },
  };

  /** What the file says when a change to it is noticed. */
  async function noticed(change: () => void): Promise<string> {
    const text = Promise.withResolvers<string>();
    const stop = watchFile(file, prompt, () => text.resolve(readFileSync(file, "utf8")));
    change();
    await text.promise;
    stop();
    return text.promise;
  }

  it("notices a write", async () => {
    expect(await noticed(() => writeFileSync(file, "new"))).toBe("new");
  });

  it("notices a new file in its place, as editors put it", async () => {
    const replace = (): void => {
      writeFileSync(`${file}.new`, "new");
      renameSync(`${file}.new`, file);
    };
    expect(await noticed(replace)).toBe("new");
  });

  it("notices a change behind a link", async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), "patchbay-reload-"));
    const target = join(elsewhere, "real.yaml");
    writeFileSync(target, "");
    unlinkSync(file);
    symlinkSync(target, file);
    expect(await noticed(() => writeFileSync(target, "new"))).toBe("new");
    rmSync(elsewhere, { recursive: true });
  });

  it("waits until the last of several steps", async () => {
    const asked: { readonly moment: number; calledOff: boolean }[] = [];
    let step = Promise.withResolvers<void>();
    const clock: Clock = {
      now: () => 1000,
      date: () => 1000,
      at(moment) {
        const one = { moment, calledOff: false };
        asked.push(one);
        step.resolve();
        return () => void (one.calledOff = true);
      },
    };
    const stop = watchFile(file, clock, () => {});
    writeFileSync(file, "one: 1\n");
    await step.promise;
    const before = asked.length;
    step = Promise.withResolvers();
    writeFileSync(file, "two: 2\n");
    await step.promise;
    expect(asked[0]).toEqual({ moment: 1100, calledOff: true });
    expect(asked.slice(0, before).every(({ calledOff }) => calledOff)).toBe(true);
    expect(asked.at(-1)?.calledOff).toBe(false);
    stop();
    expect(asked.at(-1)?.calledOff).toBe(true);
  });
});
