import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { nodePlatform } from "../../src/host/platform/node.ts";
import { readBundle, type Bundle } from "../../src/observe/recording/bundle.ts";
import { explain } from "../../src/observe/recording/explain.ts";
import { replayBundle, type ReplayedTurn } from "../../src/observe/recording/replay/replay.ts";

const folder = import.meta.dirname;
const names = readdirSync(folder).filter((name) => name.endsWith(".bundle.jsonl"));

/** The bundle as if this gateway had been recorded: judged by the same laws. */
const asReplayed = (bundle: Bundle, { status, headers, chunks }: ReplayedTurn): Bundle => ({
  ...bundle,
  reply: {
    ...bundle.reply,
    head: { line: "client-head", at: 0, after: 0, status, headers: { ...headers } },
    chunks: chunks.map((bytes) => ({ at: 0, after: 0, bytes })),
  },
});

describe("recorded turns", () => {
  it("are there", () => expect(names.length).toBeGreaterThan(3));

  it.each(names)("%s is answered as it must be", async (name) => {
    const bundle = readBundle(readFileSync(join(folder, name), "utf8"));
    const { turn, difference } = await replayBundle(bundle, {
      platform: { ...nodePlatform(), environment: {} },
      paced: false,
    });
    const { fault = "none", shown = [] } = bundle.expect ?? {};
    expect(turn.isOver).toBe(true);
    expect(explain(asReplayed(bundle, turn)).verdict.fault).toBe(fault);
    const text = Buffer.concat(turn.chunks).toString();
    for (const one of shown) expect(text).toContain(one);
    // A request to an upstream or a frame may change with the gateway; without words on what
    // must stay, all of it must.
    expect(bundle.expect === undefined ? difference : undefined).toBeUndefined();
  });
});
