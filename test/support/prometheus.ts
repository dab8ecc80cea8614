import { spawn, spawnSync, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";

export type Sample = { readonly labels: Readonly<Record<string, string>>; readonly value: number };

export type Prometheus = AsyncDisposable & {
  /** The samples of an expression, at this moment. Throws what the server has against it. */
  query(expression: string): Promise<readonly Sample[]>;
  /** Any GET of its API, by the path behind `/api/v1/`. */
  get(path: string): Promise<unknown>;
};

/** Why tests with Prometheus cannot run here; undefined: they can. */
export const missing: string | undefined = ["prometheus", "promtool"].every(
  (program) => spawnSync(program, ["--version"]).status === 0,
)
  ? undefined
  : "needs `prometheus` and `promtool` on PATH: apt-get install prometheus";

export function promtool(
  arguments_: readonly string[],
  input = "",
): { readonly status: number | null; readonly said: string } {
  const { status, stdout, stderr } = spawnSync("promtool", arguments_, {
    input,
    encoding: "utf8",
  });
  return { status, said: `${stdout}${stderr}` };
}

/** A Prometheus server on a port and in a folder of its own, that reads `/metrics` of one place. */
export async function prometheus(target: string, rules: readonly string[]): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), "patchbay-prometheus-"));
  const file = join(folder, "prometheus.yml");
  writeFileSync(
    file,
    JSON.stringify({
      global: { scrape_interval: "100ms", scrape_timeout: "100ms", evaluation_interval: "100ms" },
      rule_files: rules,
      scrape_configs: [{ job_name: "patchbay", static_configs: [{ targets: [target] }] }],
    }),
  );
  const child = spawn(
    "prometheus",
    [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      "--web.listen-address=127.0.0.1:0",
      "--log.format=json",
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  const over = once(child, "close");
  const letGo = async (): Promise<void> => {
    child.kill("SIGKILL");
    await over;
    rmSync(folder, { recursive: true });
  };
  const address = await listening(child).catch(async (error: unknown) => {
    await letGo();
    throw error;
  });

  async function get(path: string): Promise<unknown> {
    const answer = (await (await fetch(`http://${address}/api/v1/${path}`)).json()) as Answer;
    if (answer.status !== "success") throw new Error(`${path}: ${answer.error}`);
    return answer.data;
  }
  return {
    get,
    async query(expression) {
      const data = await get(`query?${new URLSearchParams({ query: expression }).toString()}`);
      const { result } = data as { readonly result: readonly Series[] };
      return result.map(({ metric, value: [, value] }) => ({
        labels: metric,
        value: Number(value),
      }));
    },
    [Symbol.asyncDispose]: letGo,
  };
}

/** Its log tells the port it was given; the rest is read so that it never waits for a reader. */
function listening(child: ChildProcessByStdio<null, null, Readable>): Promise<string> {
  const said: string[] = [];
  let address = "";
  return new Promise((resolve, reject) => {
    createInterface(child.stderr).on("line", (line) => {
      said.push(line);
      address = /"address":"([^"]+)".*"msg":"Listening on"/.exec(line)?.[1] ?? address;
      if (line.includes("Server is ready")) resolve(address);
    });
    child.once("close", () => reject(new Error(`Prometheus ended: ${said.join("\n")}`)));
  });
}

type Answer = { readonly status: string; readonly error?: string; readonly data?: unknown };
type Series = {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
};

/** Asks until the answer is as wanted, or gives the last one when the time is over. */
export async function eventually<T>(
  look: () => Promise<T>,
  isWanted: (found: T) => boolean,
  withinMs = 20_000,
): Promise<T> {
  const last = Date.now() + withinMs;
  for (;;) {
    const found = await look();
    if (isWanted(found) || Date.now() > last) return found;
    await pause(25);
  }
}
