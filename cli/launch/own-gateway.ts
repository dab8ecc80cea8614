import { randomBytes } from "node:crypto";
import { findingLine } from "../../src/host/config/config-file.ts";
import type { Environment } from "../../src/host/config/env.ts";
import { sourceNote, loadConfig, notesOf } from "../../src/host/config/load.ts";
import { operate } from "../../src/host/control/operate.ts";
import { nodePlatform } from "../../src/host/platform/node.ts";
import { Problems } from "../../src/host/platform/print.ts";
import { openServer } from "../../src/host/server/server.ts";
import { openRecorded, type RecordedGateway } from "../../src/host/server/turn-files.ts";

export type OwnGateway = AsyncDisposable & {
  readonly url: string;
  readonly key: string;
  /** What a user should know of the configuration. */
  readonly notes: readonly string[];
  /** What was recorded of its turns. */
  readonly recorder: Pick<RecordedGateway["recorder"], "order" | "state" | "settled">;
};

type Wanted = {
  /** Who it is for. */
  readonly agent: string;
  /** Refuse what would not arrive whole, whatever the configuration says. */
  readonly strict: boolean;
  /** `--config` */
  readonly file?: string | undefined;
  readonly env: Environment;
  readonly directory: string;
};

/**
 * A gateway of the launch's own, on a port that nobody knows and with a key that
 * nobody else has: other users of the machine can reach loopback too. What it
 * stores is the local tenant's, as with a gateway without keys.
 */
export async function openOwnGateway({ strict, ...origin }: Wanted): Promise<OwnGateway> {
  const loaded = loadConfig({ ...origin, host: "127.0.0.1", port: 0 });
  if (!loaded.ok) throw new Problems([...loaded.findings, ...loaded.doubts].map(findingLine));
  const key = randomBytes(24).toString("base64url");
  const { server, tools } = loaded.config;
  const config = {
    ...loaded.config,
    server: { ...server, keys: [{ name: "local", key }] },
    tools: { ...tools, strict: strict || tools.strict },
  };
  const gateway = openRecorded(config, nodePlatform());
  const listening = await openServer(gateway, config.server);
  gateway.start();
  const { url } = listening;
  const { files, keys } = loaded;
  const control = await operate(gateway, {
    url,
    files,
    keys,
    group: process.pid,
    report: () => {},
    ...origin,
  });
  const notes = control.problem === undefined ? [] : [control.problem];
  return {
    url,
    key,
    recorder: gateway.recorder,
    notes: [...notesOf(loaded), ...sourceNote(loaded), ...notes],
    async [Symbol.asyncDispose]() {
      control.close();
      // Whoever would read the rest of an answer is gone.
      await listening.close(0);
    },
  };
}
