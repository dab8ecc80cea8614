import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort, startServer, temporaryFolder } from "../processes.ts";
import { Absent, type OpenSubject } from "./subject.ts";

const version = "1.15.2";
/** Its streams fail with the newest of these two, so they are held where they work. */
const pinned = { hono: "4.9.7", "@hono/node-server": "1.13.5" };

/** The rival: Portkey's gateway from npm, as its README starts it, without its console page. */
export const openPortkey: OpenSubject = async (upstream) => {
  const server = install();
  const port = await freePort();
  const folder = temporaryFolder();
  // It binds every interface unless told otherwise, and there is no option to tell it.
  const loopback = new URL("./loopback.ts", import.meta.url).href;
  const pid = await startServer({
    command: process.execPath,
    args: ["--import", loopback, server, `--port=${port}`, "--headless"],
    env: { NODE_ENV: "production" },
    folder,
    port,
  });
  const headers = {
    "x-portkey-provider": "openai",
    "x-portkey-custom-host": `http://127.0.0.1:${upstream.port}/v1`,
  };
  return [{ name: "portkey", door: "chat", port, headers, pid }];
};

/** Brings the package into the cache folder once; the path of its entry. */
function install(): string {
  const folder = join(import.meta.dirname, `../../.cache/bench/portkey-${version}`);
  const entry = join(folder, "node_modules/@portkey-ai/gateway/build/start-server.js");
  if (existsSync(entry)) return entry;
  mkdirSync(folder, { recursive: true });
  const dependencies = { "@portkey-ai/gateway": version, ...pinned };
  const manifest = { private: true, dependencies, overrides: pinned };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest, null, 2));
  const args = ["install", "--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts"];
  const done = spawnSync("npm", args, { cwd: folder, encoding: "utf8", timeout: 120_000 });
  if (done.status === 0 && existsSync(entry)) return entry;
  throw new Absent(`npm could not install it: ${done.stderr.trim().slice(-200)}`);
}
