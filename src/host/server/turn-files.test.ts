import { execFileSync } from "node:child_process";
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseConfig, type ConfigInput } from "../../gateway/config.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import type { Happening } from "../../observe/happening.ts";
import { stillClock } from "../../../test/support/still-clock.ts";
import { nodePlatform } from "../platform/node.ts";
import { openRecorded, unwritable } from "./turn-files.ts";

let directory = "";
let happenings: Happening[] = [];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "patchbay-files-"));
  happenings = [];
});
afterEach(() => rmSync(directory, { recursive: true }));

const at = (name: string): string => join(directory, name);
const linesIn = (name: string): Record<string, unknown>[] =>
  readFileSync(at(name), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

const scripted = {
  upstreams: {
    s: { dialect: "scripted", script: [[{ text: "Hi." }]] },
  },
  models: { "*": "s/s" },
} as const satisfies ConfigInput;
const withLogs = (usage_log?: string, event_log?: string) =>
  parseConfig({ ...scripted, telemetry: { usage_log, event_log } });
const open = (config = withLogs(at("logs/usage.ndjson"), at("logs/events.ndjson"))): Gateway =>
  openRecorded(
    config,
    nodePlatform((happening) => void happenings.push(happening)),
  );

async function ask(
  gateway: Gateway,
  id: string,
  body = '{"model":"m","messages":[]}',
): Promise<void> {
  const headers = { "content-type": "application/json", "x-request-id": id };
  const url = "http://localhost/v1/chat/completions";
  await (await gateway.fetch(new Request(url, { method: "POST", headers, body }))).text();
}

const hello = '{"model":"m","messages":[{"role":"user","content":"my secret words"}]}';

describe("the files of turns", () => {
  it("get one usage line for each turn, in a folder made for them", async () => {
    const gateway = open();
    await ask(gateway, "one", hello);
    await ask(gateway, "two", hello);
    await gateway.close(0);
    expect(linesIn("logs/usage.ndjson").map((line) => line.req_id)).toEqual(["one", "two"]);
    expect(linesIn("logs/events.ndjson").map((line) => [line.req_id, line.kind])).toEqual([
      ["one", "client_request"],
      ["one", "tool_call_summary"],
      ["one", "client_json"],
      ["two", "client_request"],
      ["two", "tool_call_summary"],
      ["two", "client_json"],
    ]);
  });

  it("hold nothing of what was said", async () => {
    const gateway = open();
    await ask(gateway, "one", hello);
    await gateway.close(0);
    const written = JSON.stringify([linesIn("logs/usage.ndjson"), linesIn("logs/events.ndjson")]);
    expect(written).not.toMatch(/secret|Hi\./);
  });

  it("are added to, not begun anew", async () => {
    writeFileSync(at("usage.ndjson"), '{"before":true}\n');
    const gateway = open(withLogs(at("usage.ndjson")));
    await ask(gateway, "one", hello);
    await gateway.close(0);
    expect(linesIn("usage.ndjson")).toMatchObject([{ before: true }, { req_id: "one" }]);
  });

  it("change with the configuration", async () => {
    const gateway = open(withLogs(at("first")));
    await ask(gateway, "one", hello);
    gateway.reconfigure(withLogs(at("second")));
    await ask(gateway, "two", hello);
    gateway.reconfigure(withLogs());
    await ask(gateway, "three", hello);
    await gateway.close(0);
    expect(linesIn("first").map((line) => line.req_id)).toEqual(["one"]);
    expect(linesIn("second").map((line) => line.req_id)).toEqual(["two"]);
  });

  it("are begun anew also where the date was set back", async () => {
    const clock = stillClock(5_000_000);
    let setBack = 0;
    const dated = { ...clock, date: () => clock.now() - setBack };
    const parts = nodePlatform((happening) => void happenings.push(happening));
    const gateway = openRecorded(withLogs(at("usage")), { ...parts, clock: dated });
    await ask(gateway, "one", hello);
    renameSync(at("usage"), at("usage.1"));
    setBack = 3_600_000;
    clock.move(1000);
    await ask(gateway, "two", hello);
    await gateway.close(0);
    expect(linesIn("usage").map((line) => line.req_id)).toEqual(["two"]);
  });

  it("are begun anew where they were moved away", async () => {
    const clock = stillClock();
    const parts = nodePlatform((happening) => void happenings.push(happening));
    const gateway = openRecorded(withLogs(at("usage")), { ...parts, clock });
    await ask(gateway, "one", hello);
    renameSync(at("usage"), at("usage.1"));
    await ask(gateway, "two", hello);
    clock.move(1000);
    await ask(gateway, "three", hello);
    clock.move(1000);
    await ask(gateway, "four", hello);
    await gateway.close(0);
    expect(linesIn("usage.1").map((line) => line.req_id)).toEqual(["one", "two"]);
    expect(linesIn("usage").map((line) => line.req_id)).toEqual(["three", "four"]);
  });

  it("fail no request where they cannot be written, and are told of once", async () => {
    mkdirSync(at("folder"));
    const gateway = open(withLogs(at("folder")));
    await ask(gateway, "one", hello);
    await ask(gateway, "two", hello);
    await gateway.close(0);
    expect(happenings.filter(({ type }) => type === "unwritable")).toEqual([
      {
        type: "unwritable",
        setting: "telemetry.usage_log",
        path: at("folder"),
        problem: "is a directory; choose a file in it",
      },
    ]);
    expect(happenings.filter(({ type }) => type === "turn")).toMatchObject([
      { outcome: "completed" },
      { outcome: "completed" },
    ]);
  });

  it.runIf(process.platform === "linux")(
    "hold nobody up where they can never be: below /proc, or a pipe that nobody reads",
    async () => {
      execFileSync("mkfifo", [at("pipe")]);
      const gateway = open(withLogs(at("pipe"), "/proc/patchbay/events.ndjson"));
      await ask(gateway, "one", hello);
      await gateway.close(0);
      expect(happenings.filter(({ type }) => type === "unwritable")).toMatchObject([
        { setting: "telemetry.usage_log", problem: expect.stringMatching(/pipe without a reader/) },
        { setting: "telemetry.event_log", problem: expect.stringMatching(/choose another path/) },
      ]);
    },
  );

  it.runIf(process.platform === "linux")("go to a pipe that somebody reads", async () => {
    execFileSync("mkfifo", [at("pipe")]);
    const reader = openSync(at("pipe"), constants.O_RDONLY | constants.O_NONBLOCK);
    const gateway = open(withLogs(at("pipe")));
    await ask(gateway, "one", hello);
    await gateway.close(0);
    expect(readFileSync(reader, "utf8")).toContain('"req_id":"one"');
    closeSync(reader);
  });

  it("are tried again when the configuration is taken up anew", async () => {
    mkdirSync(at("folder"));
    const gateway = open(withLogs(at("folder")));
    rmSync(at("folder"), { recursive: true });
    gateway.reconfigure(withLogs(at("folder")));
    await ask(gateway, "one", hello);
    await gateway.close(0);
    expect(linesIn("folder").map((line) => line.req_id)).toEqual(["one"]);
  });

  it("also tell of a request that never became a turn", async () => {
    const gateway = open();
    await ask(gateway, "one", "{");
    await gateway.close(0);
    expect(linesIn("logs/usage.ndjson")).toEqual([]);
    expect(linesIn("logs/events.ndjson")).toMatchObject([
      { kind: "refusal", req_id: "one", error_code: "request.not_json" },
    ]);
  });
});

describe("whether a file could be written", () => {
  it("is known without making it", () => {
    writeFileSync(at("file"), "");
    mkdirSync(at("folder"));
    expect(unwritable(at("file"))).toBeUndefined();
    expect(unwritable(at("new/folder/file"))).toBeUndefined();
    expect(unwritable(at("folder"))).toMatch(/is a directory/);
    expect(unwritable(at("file/below"))).toMatch(/not a directory/);
    expect(existsSync(at("new"))).toBe(false);
  });
});
