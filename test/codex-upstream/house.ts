import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { existsSync } from "node:fs";
import OpenAI from "openai";
import { fakeUpstream, type FakeUpstream, type Model } from "../fake-upstream.ts";
import { serve, type Served } from "../serve.ts";

const command = fileURLToPath(new URL("../../node_modules/.bin/codex", import.meta.url));
export const missing = !existsSync(command);
if (missing)
  process.stderr.write("codex app-server is not judged: @openai/codex is not installed\n");

export type CodexHouse = AsyncDisposable & {
  readonly served: Served;
  /** What stands behind Codex. */
  readonly model: FakeUpstream;
  readonly client: OpenAI;
};

/** A gateway before the real app-server, and behind that a model of our own. */
export async function openCodex(
  behind: Model,
  more: Readonly<Record<string, unknown>> = {},
): Promise<CodexHouse> {
  const home = await mkdtemp(join(tmpdir(), "patchbay-codex-home-"));
  const model = await fakeUpstream(behind);
  const served = await serve({
    upstreams: {
      codex: {
        dialect: "codex",
        command,
        home,
        base_url: model.url,
        api_key: "sk-behind",
        ...more,
      },
    },
    models: { "*": "codex/*" },
  });
  return {
    served,
    model,
    client: new OpenAI({ baseURL: `${served.url}/v1`, apiKey: "unused", maxRetries: 0 }),
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]();
      await model[Symbol.asyncDispose]();
      await rm(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
