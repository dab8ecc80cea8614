import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { once } from "node:events";
import { describe, expect, it, onTestFinished } from "vitest";
import { openTerminal, type Terminal } from "./terminal.ts";

const NOBODY = "No gateway is running on this machine. To start one: patchbay serve\n";
/** Some other user; only root can give files away. */
const OTHER = 65_534;
const isRoot = process.getuid?.() === 0;

/** A socket with its entry, as gateways have them, at which a process listens that only notes what it is asked. */
async function impostor(folder: string, name = `${process.pid}-0123abcd`) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    response.end("{}");
  });
  const socket = join(folder, `${name}.sock`);
  await once(server.listen(socket), "listening");
  onTestFinished(() => void server.close());
  const entry = { pid: process.pid, group: process.pid, workers: 1, url: "http://127.0.0.1:1" };
  const rest = { version: "0.1.0", startedAt: 1, socket };
  const file = join(folder, `${name}.json`);
  writeFileSync(file, JSON.stringify({ ...entry, ...rest }), { mode: 0o600 });
  return { asked, file, socket };
}

const makeRun = ({ run }: Terminal, mode = 0o700): void => {
  mkdirSync(run);
  chmodSync(run, mode);
};

describe.skipIf(process.platform === "win32")(
  "a folder that others can write in",
  { timeout: 60_000 },
  () => {
    it("is not looked in for gateways, by any command, and is named", async () => {
      await using terminal = openTerminal();
      makeRun(terminal, 0o777);
      const { asked } = await impostor(terminal.run);
      const said = `${terminal.run} can be changed by other users, so gateways in it are ignored`;
      const status = await terminal.patchbay("status");
      expect([status.code, status.out]).toEqual([3, NOBODY]);
      expect(status.errors).toContain(said);
      for (const command of [["logs"], ["top"], ["record"]]) {
        const { code, errors } = await terminal.patchbay(...command);
        expect([code, errors.includes(said)]).toEqual([3, true]);
      }
      const victim = terminal.write("victim.yaml", "upstreams: {}\n");
      const doctor = await terminal.patchbay("doctor", "--probe", "demo", "--fix");
      expect(doctor.out).toContain(terminal.run);
      expect(readFileSync(victim, "utf8")).toBe("upstreams: {}\n");
      expect(asked).toEqual([]);
    });

    it.skipIf(!isRoot)("may be another user's folder, which is not used either", async () => {
      await using terminal = openTerminal();
      makeRun(terminal);
      const { asked } = await impostor(terminal.run);
      chownSync(terminal.run, OTHER, OTHER);
      const { code, out, errors } = await terminal.patchbay("status");
      expect([code, out, asked]).toEqual([3, NOBODY, []]);
      expect(errors).toContain(`${terminal.run} belongs to another user`);
    });

    it("may be reached by a link, which is not followed", async () => {
      await using terminal = openTerminal();
      makeRun(terminal);
      const { asked, file } = await impostor(terminal.run);
      const moved = join(terminal.home, "moved");
      renameSync(terminal.run, moved);
      symlinkSync(moved, terminal.run);
      const { code, out } = await terminal.patchbay("status");
      expect([code, out, asked]).toEqual([3, NOBODY, []]);
      expect(existsSync(file)).toBe(true);
    });

    it("is closed to others by a gateway, which passes over what was put there before", async () => {
      await using terminal = openTerminal();
      makeRun(terminal, 0o777);
      const left = await impostor(terminal.run);
      if (isRoot) {
        chownSync(left.file, OTHER, OTHER);
        chownSync(left.socket, OTHER, OTHER);
      } else chmodSync(left.file, 0o666);
      const gateway = await terminal.open();
      const { code, out } = await terminal.patchbay("status", "--json");
      const told = JSON.parse(out) as readonly { readonly url: string }[];
      expect([code, told.map(({ url }) => url), left.asked]).toEqual([0, [gateway.url], []]);
    });
  },
);

describe.skipIf(process.platform === "win32")(
  "a file in the folder of sockets",
  { timeout: 60_000 },
  () => {
    it("is never waited for, whatever it is", async () => {
      await using terminal = openTerminal();
      makeRun(terminal);
      spawnSync("mkfifo", [join(terminal.run, `${process.pid}-0123abcd.json`)]);
      spawnSync("mkfifo", [join(terminal.run, `${process.pid}-0123abcd.sock`)]);
      mkdirSync(join(terminal.run, `${process.pid}-0123abce.json`));
      const { code, out } = await terminal.spawned(["status"]);
      expect([code, out]).toEqual([3, NOBODY]);
    });

    it("names no other socket than the one beside it", async () => {
      await using terminal = openTerminal();
      makeRun(terminal);
      const elsewhere = join(terminal.home, "elsewhere");
      mkdirSync(elsewhere);
      const { asked, socket } = await impostor(elsewhere);
      const entry = { pid: 1, group: 1, url: "http://127.0.0.1:1", version: "1", startedAt: 1 };
      const file = join(terminal.run, `${process.pid}-0123abcd.json`);
      writeFileSync(file, JSON.stringify({ ...entry, socket }), { mode: 0o600 });
      const linked = join(terminal.run, `${process.pid}-0123abce.sock`);
      symlinkSync(socket, linked);
      const { code, out } = await terminal.patchbay("status");
      expect([code, out, asked]).toEqual([3, NOBODY, []]);
    });

    it("is left alone unless a gateway made it", async () => {
      await using terminal = openTerminal();
      makeRun(terminal);
      const own = ["package.json", "9-notes.json", "x.sock"].map((name) =>
        join(terminal.run, name),
      );
      for (const file of own) writeFileSync(file, "{}");
      const { code } = await terminal.patchbay("status");
      expect([code, own.map((file) => existsSync(file))]).toEqual([3, [true, true, true]]);
    });
  },
);

describe.skipIf(process.platform === "win32")("what others left", { timeout: 60_000 }, () => {
  it("as settings of an agent in the current folder is not waited for by doctor", async () => {
    await using terminal = openTerminal();
    const bin = join(terminal.home, "bin");
    mkdirSync(bin);
    writeFileSync(join(bin, "claude"), "#!/bin/sh\n", { mode: 0o755 });
    mkdirSync(join(terminal.home, "work", ".claude"));
    spawnSync("mkfifo", [join(terminal.home, "work", ".claude", "settings.json")]);
    const { code, out } = await terminal.spawned(["doctor"], { PATH: bin });
    expect([code, out.includes("1 agent needs no attention")]).toEqual([0, true]);
  });

  it("as patchbay.yaml is not waited for by init", async () => {
    await using terminal = openTerminal();
    spawnSync("mkfifo", [join(terminal.home, "work", "patchbay.yaml")]);
    const { code, errors } = await terminal.spawned(["init", "--force"]);
    expect([code, errors]).toEqual([1, expect.stringContaining("is not a regular file")]);
  });

  it("as the store or as its folder is not used, and the gateway says so and serves", async () => {
    await using terminal = openTerminal();
    const state = join(terminal.home, ".local", "state", "patchbay");
    mkdirSync(state, { recursive: true });
    spawnSync("mkfifo", [join(state, "patchbay.db")]);
    const first = await terminal.serve();
    expect(first.errors()).toContain(
      "is not a regular file; name one that is. Past answers are kept",
    );
    rmSync(join(state, "patchbay.db"));
    chmodSync(state, 0o777);
    const second = await terminal.serve();
    expect(second.errors()).toContain(
      `${state} can be written by every user. Past answers are kept`,
    );
    expect(existsSync(join(state, "patchbay.db"))).toBe(false);
    const { out } = await terminal.patchbay("status", "--url", second.url);
    expect(out).toMatch(/store +memory/);
  });

  it("as the home of Codex is not written to", async () => {
    await using terminal = openTerminal();
    const home = join(terminal.home, "codex");
    mkdirSync(home);
    chmodSync(home, 0o777);
    terminal.configure("upstreams: { c: { dialect: codex, command: 'true', home: ../codex } }\n");
    const first = await terminal.open();
    expect(await (await ask(first.url, "c/m")).text()).toContain("can be written by every user");
    chmodSync(home, 0o700);
    spawnSync("mkfifo", [join(home, "config.toml")]);
    const second = await terminal.open();
    const answer = await (await ask(second.url, "c/m")).text();
    expect(answer).toContain("config.toml, which Patchbay did not");
    expect(readdirSync(home)).toEqual(["config.toml"]);
  });
});

const ask = (url: string, model = "demo"): Promise<Response> =>
  fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "Hi" }] }),
  });
