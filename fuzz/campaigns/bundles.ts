import childProcess from "node:child_process";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";
import { join } from "node:path";
import * as fc from "fast-check";
import { forged, lineOf, used, type ForgedLine } from "../../test/recording/forged.ts";
import type { Campaign } from "../campaign.ts";
import { changes, mutated } from "../mutate.ts";

const folder = join(import.meta.dirname, "../../test/bundles");
const recorded = fs
  .readdirSync(folder)
  .filter((name) => name.endsWith(".bundle.jsonl"))
  .map((name) => fs.readFileSync(join(folder, name), "utf8"));

/** The turn of an upstream that speaks no HTTP. */
const ofEvents = (bundle: string): string =>
  forged(bundle, (lines) => {
    lineOf(lines, "settings")["upstreams"] = { fake: { dialect: "codex" } };
    const own = lines.filter(({ line }) => !String(line).startsWith("upstream-"));
    const events = [
      { type: "turn-start", id: "a", model: "m" },
      { type: "text-delta", choice: 0, text: "Hello" },
      { type: "call-start", choice: 0, call: 0, id: "c", kind: "function", name: "look" },
      { type: "call-delta", choice: 0, call: 0, text: "{}" },
      { type: "call-end", choice: 0, call: 0, complete: true },
      { type: "item-start", choice: 0, item: 0, dialect: "responses", raw: { type: "x", id: "i" } },
      { type: "usage", usage: { input: 1, output: 2, total: 3 } },
      { type: "turn-end", choice: 0, stop: "calls" },
    ];
    const opening = { line: "upstream-answer", at: 1, try: 1, upstream: "fake" };
    const rest = events.map((event) => ({ line: "upstream-event", at: 2, try: 1, event }));
    lines.splice(0, lines.length, ...own, opening, ...rest);
  });
const sound = [...recorded, ...recorded.slice(0, 2).map(ofEvents)];

/** Settings of upstreams that name what a bundle must not reach. */
const settings = fc.record(
  {
    dialect: fc.constantFrom(
      "chat",
      "responses",
      "messages",
      "gemini",
      "codex",
      "scripted",
      "__proto__",
    ),
    base_path: fc.constantFrom("/v1", "", "@127.0.0.1:9/", ".x", "/../..", "//127.0.0.1:9"),
    base_url: fc.constant("http://127.0.0.1:9/v1"),
    command: fc.constantFrom("/bin/true", "codex"),
    home: fc.constant("/tmp/patchbay-fuzz"),
    script: fc.constantFrom("/etc/passwd", [[{ text: "x" }]]),
    profile: fc.constantFrom("codex", "openai", "../x"),
    capabilities: fc.jsonValue({ maxDepth: 2 }),
  },
  { requiredKeys: ["dialect"] },
);

/** The same lines with the JSON in their texts as values, so that changes come into those too. */
const opened = (lines: readonly ForgedLine[]): unknown[] =>
  lines.map((line) => {
    const { body } = line;
    return typeof body === "string" && body.startsWith("{")
      ? { ...line, body: JSON.parse(body) as unknown }
      : line;
  });
const closed = (line: unknown): ForgedLine => {
  const own = line as ForgedLine;
  const { body } = own ?? {};
  return typeof body === "object" && body !== null ? { ...own, body: JSON.stringify(body) } : own;
};

/** Makes every start of a program, use of a file and connection throw, until the returned function is called. */
function tripwires(): () => void {
  const undo: (() => void)[] = [];
  const put = (holder: object, names: readonly string[]): void => {
    for (const name of names) {
      const original: unknown = Reflect.get(holder, name);
      Reflect.set(holder, name, () => {
        throw new Error(`A bundle reached ${name}.`);
      });
      undo.push(() => Reflect.set(holder, name, original));
    }
  };
  put(childProcess, ["spawn", "spawnSync", "exec", "execSync", "execFile", "execFileSync", "fork"]);
  put(fs, ["openSync", "open", "readFileSync", "writeFileSync", "mkdirSync", "createWriteStream"]);
  put(fs.promises, ["open", "readFile", "writeFile", "mkdir", "rm"]);
  put(net.Socket.prototype, ["connect"]);
  syncBuiltinESMExports();
  return () => {
    for (const undoOne of undo) undoOne();
    syncBuiltinESMExports();
  };
}

const PATIENCE_MS = 20_000;

/** Uses a bundle: it must end, without a program, a file or a connection, and its problems have a remedy. */
async function tried(text: string): Promise<void> {
  const restore = tripwires();
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error("It does not end.")), PATIENCE_MS);
  try {
    const outcome = await Promise.race([used(text), late]);
    if (outcome.includes("A bundle reached")) throw new Error(outcome);
  } finally {
    clearTimeout(timer);
    restore();
  }
}

/** Bundles of unknown origin. */
export const bundles = (): Campaign => ({
  properties: [
    {
      name: "changed lines",
      property: fc.asyncProperty(
        fc.constantFrom(...sound),
        fc.array(changes, { maxLength: 3 }),
        fc.option(settings, { nil: undefined }),
        async (bundle, list, upstream) => {
          const text = forged(bundle, (lines) => {
            const other = mutated(opened(lines), list) as unknown[];
            lines.splice(0, lines.length, ...other.map(closed));
            const own = lines.find((line) => line?.line === "settings");
            if (own !== undefined && upstream !== undefined) own["upstreams"] = { fake: upstream };
          });
          await tried(text);
        },
      ),
    },
    {
      name: "changed bytes",
      property: fc.asyncProperty(
        fc.constantFrom(...sound),
        fc.nat(100_000),
        fc.string({ unit: "binary", maxLength: 20 }),
        async (bundle, at, piece) => {
          const place = at % bundle.length;
          await tried(bundle.slice(0, place) + piece + bundle.slice(place + piece.length));
        },
      ),
    },
  ],
});
