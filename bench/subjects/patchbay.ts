import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort, startServer, temporaryFolder } from "../processes.ts";
import { models } from "../scenarios.ts";
import { Absent, type OpenSubject } from "./subject.ts";

const root = join(import.meta.dirname, "../..");

/**
 * Patchbay as it is published, with both of its doors in front of the same chat
 * upstream. Run from its sources it also keeps the compiler that strips their
 * types, some thirty megabytes of it.
 */
export const openPatchbay: OpenSubject = async (upstream) => {
  const built = spawnSync("npm", ["run", "build"], { cwd: root, encoding: "utf8" });
  if (built.status !== 0) throw new Absent(`it does not build: ${built.stdout}`);
  const cli = join(root, "dist/host/cli/cli.js");
  const port = await freePort();
  const folder = temporaryFolder();
  const config = join(folder, "patchbay.yaml");
  writeFileSync(config, configuration(port, upstream.port));
  const args = ["--max-semi-space-size=8", cli, "serve", "--config", config];
  const pid = await startServer({ command: process.execPath, args, folder, port });
  const face = { port, pid, headers: {} };
  return [
    { ...face, name: "patchbay chat", door: "chat" },
    { ...face, name: "patchbay responses", door: "responses" },
  ];
};

function configuration(port: number, upstream: number): string {
  return `
server: { host: 127.0.0.1, port: ${port} }
upstreams:
  bench: { dialect: chat, base_url: "http://127.0.0.1:${upstream}/v1", api_key: x }
models:
${models.map((model) => `  ${model}: bench/${model}`).join("\n")}
`;
}
