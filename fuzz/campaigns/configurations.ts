import * as fc from "fast-check";
import { readConfigFile } from "../../src/host/config/config-file.ts";
import { checkConfig } from "../../src/gateway/config.ts";
import { Fault } from "../../src/turn/fault.ts";
import type { Campaign } from "../campaign.ts";
import { changes, mutated } from "../mutate.ts";

const sound = {
  server: {
    host: "127.0.0.1",
    port: 1,
    keys: ["k", { name: "ann", key: "x" }],
    origins: ["https://a.b"],
  },
  upstreams: {
    a: { dialect: "chat", base_url: "https://a.b/v1", api_key: "k", headers: { "x-a": "b" } },
    b: { dialect: "codex", processes: 2, timeouts: { idle: 5 } },
    g: { dialect: "gemini", profile: "vertex", base_url: "https://a.b/v1", retries: 0 },
    c: { dialect: "scripted", script: [[{ text: "Hi" }]] },
  },
  models: { m: ["a/x", "c/y"], "*": "a/*" },
  tools: { strict: true, disclosure: "fit", block_max: 3 },
  store: { kind: "memory", max_bytes: 5 },
  telemetry: { usage_log: "x" },
  limits: { default: { requests_per_minute: 5 }, tenants: { ann: { bytes_in_flight: 9 } } },
};

/** Any text is either a configuration or gets problems that name a place. */
export const configurations = (): Campaign => ({
  properties: [
    {
      name: "changed configurations",
      property: fc.property(fc.array(changes, { minLength: 1, maxLength: 5 }), (list) => {
        const checked = checkConfig(mutated(sound, list));
        if (!checked.ok && checked.problems.length === 0) throw new Error("no problem is named");
        if (checked.ok && !checkConfig(checked.config).ok)
          throw new Error("it does not parse again");
      }),
    },
    {
      name: "texts of files",
      property: fc.property(
        fc.oneof(fc.string({ unit: "binary" }), fc.constant(JSON.stringify(sound))),
        fc.array(
          fc.tuple(
            fc.nat(1000),
            fc.constantFrom("", "${", "}", ":", "- ", "\t", "&a ", "*a", "!!x", '"'),
          ),
          {
            maxLength: 5,
          },
        ),
        (text, inserted) => {
          const whole = inserted.reduce(
            (before, [at, sign]) =>
              before.slice(0, at % (before.length + 1)) +
              sign +
              before.slice(at % (before.length + 1)),
            text,
          );
          try {
            checkConfig(readConfigFile(whole, "x.yaml", () => undefined).value);
          } catch (error) {
            if (!(error instanceof Fault)) throw error;
          }
        },
      ),
    },
  ],
});
