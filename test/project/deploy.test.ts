import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { parseConfig } from "../../src/gateway/config.ts";

const folder = join(import.meta.dirname, "../../docs/operations/deploy");
const read = (name: string): string => readFileSync(join(folder, name), "utf8");

it("has a compose file whose gateways are told to stop, and stop in time", () => {
  const { services } = parse(read("compose.yaml")) as {
    services: Record<string, { stop_grace_period?: string; entrypoint?: string[] }>;
  };
  expect(services["patchbay"]?.entrypoint?.[0]).toBe("node");
  const grace = parseConfig({}).server.shutdown_grace_ms;
  expect(
    Number.parseInt(services["patchbay"]?.stop_grace_period ?? "0", 10) * 1000,
  ).toBeGreaterThan(grace);
  expect(read("patchbay.service")).toContain("--workers 4");
});

it("has a configuration for it that is one", () => {
  const text = read("patchbay.yaml")
    .replace("${DATABASE_URL}", "postgres://u:p@database/patchbay")
    .replaceAll(/\$\{\w+\}/g, "key");
  expect(parseConfig(parse(text)).store.kind).toBe("postgres");
});
