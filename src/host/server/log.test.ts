import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LogLevel } from "../config/log-level.ts";
import { openLog, type Logger } from "./log.ts";

let directory = "";
beforeEach(() => void (directory = mkdtempSync(join(tmpdir(), "patchbay-log-"))));
afterEach(() => rmSync(directory, { recursive: true }));

/** The lines a log writes, read back. */
function linesOf(level: LogLevel, write: (log: Logger) => void): unknown[] {
  const file = join(directory, `${level}.log`);
  const descriptor = openSync(file, "w");
  const log = openLog(level, descriptor);
  write(log);
  log.flush();
  closeSync(descriptor);
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line): unknown => JSON.parse(line));
}

describe("the log", () => {
  it("writes one line for each happening", () => {
    const lines = linesOf("info", (log) => {
      log.report({
        type: "fallback",
        requestId: "req_1",
        from: "a/x",
        to: "b/y",
        fault: "upstream.failed",
      });
      log.report({ type: "reload", ok: false, problems: ["p"] });
      log.note("hello");
    });
    expect(lines).toEqual([
      {
        level: "warn",
        time: expect.any(String),
        requestId: "req_1",
        from: "a/x",
        to: "b/y",
        fault: "upstream.failed",
        msg: "fallback",
      },
      { level: "error", time: expect.any(String), ok: false, problems: ["p"], msg: "reload" },
      { level: "info", time: expect.any(String), msg: "hello" },
    ]);
  });

  it("keeps what an unknown error quotes to itself", () => {
    const lines = linesOf("info", (log) => {
      try {
        JSON.parse("my secret prompt");
      } catch (error) {
        log.uncaught(error);
      }
      log.uncaught("my secret string");
    });
    expect(JSON.stringify(lines)).not.toContain("secret");
    expect(lines).toMatchObject([{ name: "SyntaxError", msg: "uncaught" }, { name: "string" }]);
  });

  it("can be turned down and off", () => {
    const write = (log: Logger): void => {
      log.note("quiet");
      log.uncaught(new TypeError("loud"));
    };
    expect(linesOf("error", write)).toMatchObject([{ name: "TypeError" }]);
    expect(linesOf("silent", write)).toEqual([]);
  });
});
