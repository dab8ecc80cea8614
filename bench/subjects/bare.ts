import { fileURLToPath } from "node:url";
import { freePort, startServer, temporaryFolder } from "../processes.ts";
import type { OpenSubject } from "./subject.ts";

/** What no gateway on Node can go below: `node:http` and undici, and bytes passed on unread. */
export const openBare: OpenSubject = async (upstream) => {
  const server = fileURLToPath(new URL("./bare-server.ts", import.meta.url));
  const port = await freePort();
  const pid = await startServer({
    command: process.execPath,
    args: ["--max-semi-space-size=8", server, String(port), String(upstream.port)],
    env: { MALLOC_ARENA_MAX: "1" },
    folder: temporaryFolder(),
    port,
  });
  return [{ name: "bare node", door: "chat", port, headers: {}, pid }];
};
