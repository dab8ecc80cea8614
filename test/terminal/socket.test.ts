import { chmodSync, lstatSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openTerminal } from "./terminal.ts";

const modeOf = (path: string): number => lstatSync(path).mode & 0o777;

describe.skipIf(process.platform === "win32")("the private socket", { timeout: 120_000 }, () => {
  it("is its user's alone, also where the folder was open to others", async () => {
    await using terminal = openTerminal();
    const first = await terminal.open();
    await first.stop();
    chmodSync(terminal.run, 0o777);
    await terminal.open();
    expect(modeOf(terminal.run)).toBe(0o700);
    expect(
      terminal.files().map((file) => [file.split(".")[1], modeOf(join(terminal.run, file))]),
    ).toEqual([
      ["json", 0o600],
      ["sock", 0o600],
    ]);
  });

  it("is not looked for in a folder that others may write, and nothing is removed there", async () => {
    await using terminal = openTerminal();
    await terminal.open();
    writeFileSync(join(terminal.run, "1-x.json"), "{}");
    chmodSync(terminal.run, 0o777);
    expect(await terminal.patchbay("status")).toMatchObject({ code: 3 });
    expect(terminal.files()).toHaveLength(3);
  });

  it("is gone with its gateway, and one that was killed leaves nothing that others take for it", async () => {
    await using terminal = openTerminal();
    const [stopped, killed] = await Promise.all([terminal.serve(), terminal.serve()]);
    expect(terminal.files()).toHaveLength(4);
    await stopped.stop();
    expect(terminal.files()).toHaveLength(2);
    await killed.stop("SIGKILL");
    expect(terminal.files()).toHaveLength(2);
    const { code, out } = await terminal.patchbay("status");
    expect({ code, out }).toEqual({
      code: 3,
      out: "No gateway is running on this machine. To start one: patchbay serve\n",
    });
    expect(terminal.files()).toEqual([]);
  });

  it("is one for each of several gateways", async () => {
    await using terminal = openTerminal();
    const both = await Promise.all([terminal.open(), terminal.open()]);
    const { code, out } = await terminal.patchbay("status", "--json");
    expect(code).toBe(0);
    const told = JSON.parse(out) as { url: string }[];
    expect(told.map(({ url }) => url).toSorted()).toEqual(both.map(({ url }) => url).toSorted());
  });

  it("is not to be had by HTTP", async () => {
    await using terminal = openTerminal();
    const { url } = await terminal.open();
    const answers = await Promise.all(
      ["/status", "/console/api/status", "/recording", "/feed"].map((path) =>
        fetch(`${url}${path}`),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
  });

  it("may be missing: the gateway says so once, and serves", async () => {
    await using terminal = openTerminal();
    writeFileSync(join(terminal.home, "file"), "");
    const gateway = await terminal.serve([], {
      PATCHBAY_RUNTIME_DIR: join(terminal.home, "file", "run"),
    });
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
    const told = gateway
      .errors()
      .split("\n")
      .filter((line) => line.includes("private socket"));
    expect(told).toHaveLength(1);
    expect(told[0]).toContain("set PATCHBAY_RUNTIME_DIR");
  });
});
