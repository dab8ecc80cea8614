import { describe, expect, it } from "vitest";
import { parseConfig } from "../../gateway/config.ts";
import { findingLine } from "./config-file.ts";
import { applySettings, flags, misspeltVariables, readFlags, type Environment } from "./env.ts";

function configOf(env: Environment, raw: Record<string, unknown> = {}) {
  return parseConfig(applySettings(raw, readFlags(env).settings));
}

describe("environment flags", () => {
  it.each([
    ["HOST", "0.0.0.0", "server", "host", "0.0.0.0"],
    ["PROXY_HOST", "::1", "server", "host", "::1"],
    ["PORT", "0", "server", "port", 0],
    ["PATCHBAY_API_KEY", "a", "server", "keys", ["a"]],
    ["PROXY_API_KEY", "b", "server", "keys", ["b"]],
    ["PROXY_CORS_ALLOWED_ORIGINS", "https://a.b, *", "server", "origins", ["https://a.b", "*"]],
    ["PROXY_TOOL_BLOCK_MAX", "3", "tools", "block_max", 3],
    ["PROXY_TOOL_BLOCK_DEDUP", "yes", "tools", "block_dedup", true],
    ["PROXY_TOOL_BLOCK_DELIMITER", "true", "tools", "block_delimiter", "\n\n"],
    ["PROXY_TOOL_BLOCK_DELIMITER", "false", "tools", "block_delimiter", ""],
    ["PROXY_TOOL_BLOCK_DELIMITER", "--\\n", "tools", "block_delimiter", "--\n"],
    ["PROXY_STOP_AFTER_TOOLS", "1", "tools", "stop_after", true],
    ["PROXY_STOP_AFTER_TOOLS_MODE", "First", "tools", "stop_after_mode", "first"],
    ["PROXY_STOP_AFTER_TOOLS_GRACE_MS", "50", "tools", "stop_after_grace_ms", 50],
    ["PROXY_SUPPRESS_TAIL_AFTER_TOOLS", "ON", "tools", "suppress_tail", true],
    ["PROXY_ENABLE_PARALLEL_TOOL_CALLS", "off", "tools", "parallel", "unrequested"],
    ["PROXY_ENABLE_PARALLEL_TOOL_CALLS", "yes", "tools", "parallel", true],
    ["PROXY_SSE_KEEPALIVE_MS", "5000", "server", "keepalive_ms", 5000],
    ["PROXY_TEXT_CALLS", "on", "tools", "text_calls", true],
    ["PROXY_OUTPUT_MODE", "obsidian_xml", "tools", "output", "obsidian-xml"],
    ["PROXY_OUTPUT_MODE", "openai", "tools", "output", "openai-json"],
    ["TOKEN_LOG_PATH", "u.ndjson", "telemetry", "usage_log", "u.ndjson"],
    ["PROTO_LOG_PATH", "e.ndjson", "telemetry", "event_log", "e.ndjson"],
  ] as const)("%s=%s sets %s.%s", (name, said, section, key, value) => {
    const config: Record<string, Record<string, unknown>> = configOf({ [name]: said });
    expect(config[section]?.[key]).toEqual(value);
  });

  it("override the file", () => {
    const raw = { server: { host: "127.0.0.1", port: 1 }, tools: { block_max: 9, strict: true } };
    const { server, tools } = configOf({ PORT: "2", PROXY_TOOL_BLOCK_MAX: "1" }, raw);
    expect([server.port, tools.block_max, tools.strict]).toEqual([2, 1, true]);
  });

  it("let the more particular host win", () => {
    expect(configOf({ HOST: "a", PROXY_HOST: "b" }).server.host).toBe("b");
  });

  it("replace the file's keys, unless the file refers to them itself", () => {
    const file = { server: { keys: ["one", "two"] } };
    expect(configOf({ PROXY_API_KEY: "b" }, file).server.keys).toEqual(["b"]);
    expect(configOf({ PATCHBAY_API_KEY: "one" }, file).server.keys).toEqual(["one", "two"]);
    expect(configOf({ PATCHBAY_API_KEY: "a", PROXY_API_KEY: "b" }).server.keys).toEqual(["a", "b"]);
    expect(configOf({ PATCHBAY_API_KEY: "a", PROXY_API_KEY: "a" }).server.keys).toEqual(["a"]);
    const named = { server: { keys: [{ name: "ann", key: "one" }] } };
    expect(configOf({ PATCHBAY_API_KEY: "one" }, named).server.keys).toEqual(named.server.keys);
    expect(configOf({ PATCHBAY_API_KEY: "two" }, named).server.keys).toEqual(["two"]);
  });

  it("are not set when they are empty", () => {
    const env = Object.fromEntries(Object.keys(flags).map((name) => [name, ""]));
    expect(readFlags(env)).toEqual({ settings: [], findings: [] });
  });

  it.each([
    ["PROXY_TOOL_BLOCK_MX", "PROXY_TOOL_BLOCK_MAX"],
    ["PATCHBAY_TOOL_BLOCK_MAX", "PROXY_TOOL_BLOCK_MAX"],
    ["PATCHBAY_APIKEY", "PATCHBAY_API_KEY"],
    ["PROXY_PORT", "PORT"],
    ["PATCHBAY_HOST", "HOST"],
    ["PROXY_TOKEN_LOG_PATH", "TOKEN_LOG_PATH"],
  ])("are told of when they are misspelt: %s for %s", (name, meant) => {
    const note = `${name} is set, but Patchbay does not read it; did you mean ${meant}?`;
    expect(misspeltVariables({ [name]: "1" }, new Set())).toEqual([note]);
    expect(misspeltVariables({ [name]: "1" }, new Set([name]))).toEqual([]);
    expect(misspeltVariables({ [name]: "" }, new Set())).toEqual([]);
  });

  it("leave alone what others name like them", () => {
    const service = "tcp://10.0.0.7:11435";
    const env = { PROXY_URL: "x", PATCHBAY_PORT: service, PATCHBAY_SERVICE_HOST: "10.0.0.7" };
    expect(misspeltVariables({ ...env, PROXY_TOOL_BLOCK_MAX: "1", HOST: "x" }, new Set())).toEqual(
      [],
    );
  });

  it("are reported together when they cannot be read", () => {
    const { findings } = readFlags({
      PORT: "70000",
      PROXY_TOOL_BLOCK_MAX: "-1",
      PROXY_STOP_AFTER_TOOLS: "maybe",
      PROXY_STOP_AFTER_TOOLS_MODE: "constructor",
      PROXY_OUTPUT_MODE: "xml",
      PROXY_FORCE_JSONRPC_STREAM_FOR_NONSTREAM: "?",
    });
    expect(findings.map(findingLine)).toEqual([
      "environment variable PORT: `70000` is not a port, 0 to 65535; change it or unset it",
      "environment variable PROXY_TOOL_BLOCK_MAX: `-1` is not a whole number, 0 or more; change it or unset it",
      "environment variable PROXY_STOP_AFTER_TOOLS: `maybe` is not `true` or `false`; change it or unset it",
      "environment variable PROXY_STOP_AFTER_TOOLS_MODE: `constructor` is not `first` or `burst`; change it or unset it",
      "environment variable PROXY_OUTPUT_MODE: `xml` is not `openai-json` or `obsidian-xml`; change it or unset it",
      "environment variable PROXY_FORCE_JSONRPC_STREAM_FOR_NONSTREAM: `?` is not `true` or `false`; change it or unset it",
    ]);
  });
});
