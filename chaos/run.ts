/**
 * Runs a gateway under load and makes its life hard: kills and stops it, lets it
 * stand still, cuts its upstreams and has them fall silent, steps its clock, has
 * its logs on a full disk and its store on one that fills, leaves it few
 * descriptors and, with `--heap 256`, little memory. Every client knows what it
 * must be told. `npm run chaos -- --seconds 60 --clients 40`. To see whether its
 * memory grows it must live on: `--without kill,stop`.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { askOnce } from "./clients.ts";
import { gatewayProcess } from "./gateway.ts";
import { openUpstream } from "./upstream.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    clients: { type: "string", default: "40" },
    heap: { type: "string" },
    port: { type: "string", default: "18435" },
    descriptors: { type: "string", default: "160" },
    disk: { type: "string", default: "8" },
    without: { type: "string", default: "" },
  },
});
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** How long an upstream may be silent: some fall silent for good, also before they begin. */
const timeouts = { headers: 3000, idle: 3000 };

const folder = mkdtempSync(join(tmpdir(), "patchbay-chaos-"));
const [first, second] = [await openUpstream(0.5), await openUpstream(0.2)];
const keys = ["key-of-ann", "key-of-bob", "key-of-cid"];
const config = join(folder, "patchbay.yaml");
writeFileSync(
  config,
  JSON.stringify({
    server: {
      keys: keys.map((key) => ({ name: key.slice(7), key })),
      shutdown_grace_ms: 5000,
    },
    upstreams: {
      a: { dialect: "chat", base_url: first.url, retries: 0, timeouts },
      b: { dialect: "chat", base_url: second.url, retries: 0, timeouts },
    },
    models: { m: ["a/m", "b/m"] },
    store: { kind: "sqlite", path: join(folder, "store.db"), max_bytes: 20_000_000 },
    telemetry: { usage_log: "/dev/full", event_log: "/dev/full" },
  }),
);

const port = Number(values.port);
const url = `http://127.0.0.1:${port}`;
const heap = values.heap === undefined ? undefined : Number(values.heap);
const gateway = gatewayProcess({
  config,
  port,
  heap,
  descriptors: Number(values.descriptors),
  disk: Number(values.disk),
});
await gateway.start();

const counts = new Map<string, number>();
const wrong: string[] = [];
const memory: number[] = [];
const until = Date.now() + Number(values.seconds) * 1000;
const load = { isOver: false };

async function client(): Promise<void> {
  while (!load.isOver) {
    if (!gateway.isUp) await pause(50);
    const before = gateway.deaths;
    const wasUp = gateway.isUp;
    const { nonce, verdict } = await askOnce(url, keys);
    const isExcused = !wasUp || gateway.deaths !== before || !gateway.isUp;
    const type = verdict.type === "cut" && isExcused ? "cut by a death" : verdict.type;
    counts.set(type, (counts.get(type) ?? 0) + 1);
    if (verdict.type === "wrong") wrong.push(`${nonce}: ${verdict.why}`);
    if (type === "cut") wrong.push(`${nonce}: its connection was cut while the gateway was well`);
    const asked = Math.max(first.asked.get(nonce) ?? 0, second.asked.get(nonce) ?? 0);
    if (asked > 1) wrong.push(`${nonce}: one upstream was asked ${asked} times`);
    first.asked.delete(nonce);
    second.asked.delete(nonce);
  }
}

const deeds: Readonly<Record<string, () => Promise<void>>> = {
  async kill() {
    await gateway.kill();
    await gateway.start();
  },
  async stop() {
    await gateway.stop();
    await gateway.start();
  },
  async standStill() {
    gateway.signal("SIGSTOP");
    await pause(500);
    gateway.signal("SIGCONT");
  },
  async cutUpstreams() {
    first.cutAll();
    second.cutAll();
    await pause(100);
  },
  async stepClock() {
    gateway.signal("SIGUSR2");
    await pause(100);
  },
};

async function trouble(): Promise<void> {
  const left = values.without.split(",");
  const names = Object.keys(deeds).filter((name) => !left.includes(name));
  for (let at = 0; Date.now() < until; at++) {
    await pause(500 + Math.random() * 1500);
    memory.push(gateway.rss());
    const name = names[at % names.length] ?? "";
    await deeds[name]?.();
  }
  load.isOver = true;
}

await Promise.all([trouble(), ...Array.from({ length: Number(values.clients) }, client)]);
await gateway.stop();
first.close();
second.close();
rmSync(folder, { recursive: true, force: true });

for (const [type, count] of counts) say(`${type}: ${count}`);
const third = Math.ceil(memory.length / 3);
const median = (sizes: readonly number[]): string =>
  (sizes.toSorted((a, b) => a - b)[Math.floor(sizes.length / 2)] ?? 0).toFixed(0);
say(
  `deaths: ${gateway.deaths}; resident memory at most ${Math.max(...memory).toFixed(0)} MB, median of the first third ${median(memory.slice(0, third))} MB, of the last ${median(memory.slice(-third))} MB`,
);
for (const line of wrong.slice(0, 20)) say(`WRONG ${line}`);
if (wrong.length > 0) {
  say(`${wrong.length} wrong`);
  process.exitCode = 1;
}
