import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { freePort, startCommand, startServer, temporaryFolder } from "../processes.ts";
import { models, prefixes } from "../scenarios.ts";
import { Absent, type OpenSubject, type Subject } from "./subject.ts";

const root = join(import.meta.dirname, "../..");

/**
 * Patchbay as it is published, with its doors in front of the same upstream, which
 * speaks chat, Messages and Gemini. Run from its sources it
 * also keeps the compiler that strips their types, some thirty megabytes of it.
 */
export const openPatchbay: OpenSubject = async (upstream) => {
  build(root);
  return start(root, "patchbay", upstream);
};

/**
 * Another checkout of Patchbay, such as one from before a change, to be compared
 * in the same run: with all its doors or, where it does not start with those, with
 * the first two alone.
 */
export const openBefore =
  (folder: string | undefined): OpenSubject =>
  async (upstream) => {
    if (folder === undefined) throw new Absent("named by --before DIR");
    const checkout = resolve(folder);
    build(checkout);
    return start(checkout, "before", upstream).catch(() =>
      start(checkout, "before", upstream, { dialects: [] }),
    );
  };

/** A built Patchbay with a separate store, for the parts that compare stores. */
export const openStored = (
  upstream: Pick<Upstream, "port">,
  name: string,
  setting: string,
): ReturnType<OpenSubject> =>
  start(root, name, upstream, { store: setting }).then((faces) =>
    faces.filter((each) => each.costOnly !== true),
  );

/** Patchbay with a limit on the turns that its console lists. */
export const openKeeping = (
  upstream: Pick<Upstream, "port">,
  name: string,
  keep: number,
  recording?: string,
): ReturnType<OpenSubject> =>
  start(root, name, upstream, { keep, recording }).then((faces) =>
    faces.filter((each) => each.costOnly !== true),
  );

/** Has `patchbay top` follow a gateway that the bench has started, until the bench ends. */
export function startTop(folder: string, { port }: Pick<Subject, "port">): void {
  const cli = join(root, "dist/cli/cli.js");
  startCommand({
    command: process.execPath,
    args: [cli, "top", "--url", `http://127.0.0.1:${port}`],
    folder,
  });
}

type Upstream = Parameters<OpenSubject>[0];

function build(checkout: string): void {
  const built = spawnSync("npm", ["run", "build"], { cwd: checkout, encoding: "utf8" });
  if (built.status !== 0) throw new Absent(`it does not build: ${built.stdout}`);
}

type Settings = {
  readonly store?: string;
  /** The dialects it knows besides those of OpenAI. */
  readonly dialects?: readonly Translated[];
  /** Turns that the console lists. */
  readonly keep?: number;
  /** Which turns are recorded. */
  readonly recording?: string | undefined;
};

/** Without a setting, the store is in memory; another part measures the cost of stores. */
async function start(
  checkout: string,
  name: string,
  upstream: Pick<Upstream, "port">,
  { store = "{ kind: memory }", dialects = translated, keep, recording }: Settings = {},
): ReturnType<OpenSubject> {
  const manifest = JSON.parse(readFileSync(join(checkout, "package.json"), "utf8")) as {
    readonly bin: { readonly patchbay: string };
  };
  const cli = join(checkout, manifest.bin.patchbay);
  const port = await freePort();
  const folder = temporaryFolder();
  const config = join(folder, "patchbay.yaml");
  const kept =
    (keep === undefined ? "" : `console: { keep: ${keep} }\n`) +
    (recording === undefined ? "" : `telemetry: { recording: ${recording} }\n`);
  writeFileSync(config, `${configuration(port, upstream.port, dialects)}store: ${store}\n${kept}`);
  const args = ["--max-semi-space-size=8", cli, "serve", "--config", config];
  // As the image and the service files set it.
  const env = { MALLOC_ARENA_MAX: "1" };
  const pid = await startServer({ command: process.execPath, args, folder, port, env });
  const face = { port, pid, folder, headers: {} };
  const openai: Subject[] = [
    { ...face, name: `${name} chat`, door: "chat" },
    { ...face, name: `${name} responses`, door: "responses" },
  ];
  const others = dialects.flatMap((door): Subject[] => {
    const shared = { ...face, costOnly: true };
    const on = { ...shared, prefix: prefixes[door] };
    return [
      { ...shared, name: `${name} ${door}`, door },
      { ...on, name: `${name} chat on ${door}`, door: "chat" },
      { ...on, name: `${name} ${door} on ${door}`, door },
    ];
  });
  return [...openai, ...others];
}

type Translated = keyof typeof prefixes;
const translated = ["messages", "gemini"] as const;

function configuration(port: number, upstream: number, dialects: readonly Translated[]): string {
  const address = `base_url: "http://127.0.0.1:${upstream}/v1", api_key: x`;
  const lines = [
    `server: { host: 127.0.0.1, port: ${port} }`,
    "upstreams:",
    `  bench: { dialect: chat, ${address} }`,
    ...dialects.map((dialect) => `  ${dialect}: { dialect: ${dialect}, ${address} }`),
    "models:",
    ...models.map((model) => `  ${model}: bench/${model}`),
    ...dialects.flatMap((dialect) =>
      models.map((model) => `  ${prefixes[dialect]}${model}: ${dialect}/${model}`),
    ),
  ];
  return `${lines.join("\n")}\n`;
}
