import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { parse } from "yaml";
import { afterEach, describe, expect, it } from "vitest";
import { type ConfigInput, parseConfig } from "../../src/gateway/config.ts";
import { readConfigFile } from "../../src/host/config/config-file.ts";
import { configText, findAll, findLocalServers, foundLines, signs } from "./init.ts";

const open: Server[] = [];
afterEach(() => {
  for (const server of open.splice(0)) server.close();
});

/** Answers these paths, and nothing else. */
async function answering(paths: Readonly<Record<string, unknown>>): Promise<number> {
  const server = createServer((request, response) => {
    const body = paths[request.url ?? ""];
    response.statusCode = body === undefined ? 404 : 200;
    response.end(typeof body === "string" ? body : JSON.stringify(body ?? {}));
  });
  open.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** Looks for one kind of server at a port, and for the others where nobody is. */
const lookFor = (name: string, port: number) =>
  findLocalServers((sign) => (sign.name === name ? port : 9));

const own: Readonly<Record<string, unknown>> = {
  ollama: { version: "0.12.1" },
  lmstudio: { models: [] },
  vllm: { version: "0.14.0" },
  llamacpp: { default_generation_settings: { n_ctx: 1 } },
  llamaswap: { running: [] },
  sglang: { model_path: "m" },
};

describe("a local server", () => {
  it.each(signs)("$title is known by its own answer, with its models", async ({ name, path }) => {
    const models = { data: [{ id: "a:1" }, { id: "b" }, {}] };
    const port = await answering({ [path]: own[name], "/v1/models": models });
    const address = `http://127.0.0.1:${port}`;
    expect(await lookFor(name, port)).toMatchObject([{ name, address, models: ["a:1", "b"] }]);
  });

  it.each(signs)("$title is not taken for whatever else answers there", async ({ name, path }) => {
    const models = { data: [{ id: "a" }] };
    for (const body of ["<html>", "[]", "null", {}, { version: 1 }, "x".repeat(2_000_000)]) {
      const port = await answering({ [path]: body, "/v1/models": models });
      expect(await lookFor(name, port)).toEqual([]);
    }
  });
});

describe("what was found", () => {
  const env = { DASHSCOPE_API_KEY: "canary", OPENAI_API_KEY: "", ZHIPUAI_API_KEY: "canary" };
  const server = {
    name: "ollama",
    title: "Ollama",
    address: "http://127.0.0.1:11434",
    version: "0.12.1",
    profile: "ollama",
    models: ["qwen3:8b", "gpt-oss"],
  };

  it("names keys by their variables alone", async () => {
    const found = await findAll(env, () => Promise.resolve([server]));
    expect(foundLines(found)).toEqual([
      "keys     DASHSCOPE_API_KEY, ZHIPUAI_API_KEY",
      "servers  Ollama 0.12.1 at http://127.0.0.1:11434 (2 models)",
      "agents   none",
    ]);
    expect(JSON.stringify(found)).not.toContain("canary");
  });

  it("keeps names of models as servers list them: they refer to no variable and stand once", async () => {
    const models = ["a${HOME}b", "$${x}", "${file:/etc/hostname}", "open ${", "*", "plain"];
    const servers = [
      { ...server, models },
      { ...server, name: "vllm", models: ["plain"] },
    ];
    for (const found of [servers, servers.slice(0, 1)]) {
      const text = configText(await findAll({}, () => Promise.resolve(found)));
      const refuse = (name: string): never => {
        throw new Error(`${name} was read`);
      };
      const read = readConfigFile(text, "patchbay.yaml", refuse, refuse);
      expect(read.findings).toEqual([]);
      const listed = (read.value as ConfigInput).models ?? {};
      for (const model of models.filter((name) => name !== "*"))
        expect(listed[model]).toBe(`ollama/${model}`);
    }
  });

  it("becomes a configuration that is right as it stands", async () => {
    for (const found of [
      await findAll(env, () => Promise.resolve([server])),
      await findAll({}, () => Promise.resolve([server])),
      await findAll({}, () => Promise.resolve([])),
    ]) {
      const text = configText(found).replaceAll(/\$\{\w+\}/g, "key");
      const config = parseConfig(parse(text) as ConfigInput);
      const count = found.keys.length + found.servers.length;
      expect(Object.keys(config.upstreams).includes("demo")).toBe(count === 0);
      expect(config.models["*"] === undefined).toBe(count > 1);
      for (const model of found.servers.flatMap(({ models }) => models))
        expect(config.models[model]).toBeDefined();
    }
  });
});
