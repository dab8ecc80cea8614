/**
 * Prints how the works of a module grow: `node count-work.ts MODULE`, which exports them as
 * `works`. V8 counts how often each block of `src` is executed, which is the same in every run;
 * only functions that it compiles after the counting has begun are counted, so this is a process
 * of its own.
 */

import { Session } from "node:inspector";
import type { Works } from "./growth.ts";

const SIZE = 100;
const sources = new URL("../../src/", import.meta.url).href;

const session = new Session();
session.connect();
session.post("Profiler.enable");
session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });

type Coverage = {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[];
  }[];
};

/** The blocks that were executed since the last call. */
function takeBlocks(): number {
  let blocks = 0;
  session.post("Profiler.takePreciseCoverage", (error, taken: Coverage) => {
    if (error) throw error;
    for (const { url, functions } of taken.result)
      if (url.startsWith(sources))
        for (const { ranges } of functions) for (const { count } of ranges) blocks += count;
  });
  return blocks;
}

const { works } = (await import(process.argv[2] ?? "")) as { readonly works: Works };
const growths: Record<string, number> = {};
for (const [title, work] of Object.entries(works)) {
  const blocks: number[] = [];
  // The first time also compiles and fills caches.
  for (const size of [SIZE, SIZE, 2 * SIZE, 4 * SIZE]) {
    await work(size);
    blocks.push(takeBlocks());
  }
  const [, once = 0, twice = 0, four = 0] = blocks;
  growths[title] = (four - twice) / (twice - once);
}
process.stdout.write(JSON.stringify(growths));
process.exit(0);
