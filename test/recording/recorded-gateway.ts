import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ConfigInput, parseConfig } from "../../src/gateway/config.ts";
import type { Platform } from "../../src/gateway/platform.ts";
import { openRecorded, type RecordedGateway } from "../../src/host/server/turn-files.ts";
import { nodePlatform } from "../../src/host/platform/node.ts";
import type { Happening } from "../../src/observe/happening.ts";

export type RecordingTest = AsyncDisposable & {
  readonly gateway: RecordedGateway;
  readonly folder: string;
  readonly happenings: readonly Happening[];
  /** Asks and reads the whole answer; what was recorded is on the disk then. */
  ask(path: string, body: unknown, headers?: Record<string, string>): Promise<string>;
  /** The texts of all bundles, oldest first. */
  bundles(): readonly string[];
  /** Their files. */
  files(): readonly string[];
};

/** A gateway that records to a folder of its own. */
export function recordedGateway(
  config: ConfigInput,
  platform: Partial<Platform> = {},
): RecordingTest {
  const root = mkdtempSync(join(tmpdir(), "patchbay-recording-"));
  const folder = join(root, "recordings");
  const happenings: Happening[] = [];
  const report = (happening: Happening): void => void happenings.push(happening);
  const whole: ConfigInput = { ...config, recording: { folder, ...config.recording } };
  const gateway = openRecorded(parseConfig(whole, platform), {
    ...nodePlatform(report),
    environment: {},
    ...platform,
  });
  const files = (): string[] => {
    try {
      return readdirSync(folder)
        .toSorted()
        .map((name) => join(folder, name));
    } catch {
      return []; // Nothing was recorded, so nobody has made it.
    }
  };
  return {
    gateway,
    folder,
    happenings,
    async ask(path, body, headers = {}) {
      const text = typeof body === "string" ? body : JSON.stringify(body);
      const request = new Request(`http://127.0.0.1${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: text,
      });
      const answer = await (await gateway.fetch(request)).text();
      await gateway.recorder.settled();
      return answer;
    },
    files,
    bundles: () => files().map((file) => readFileSync(file, "utf8")),
    async [Symbol.asyncDispose]() {
      await gateway.close(0);
      rmSync(root, { recursive: true, force: true });
    },
  };
}
