/** Loaded into a gateway process: measures the longest hold of its event loop, and reports it to its parent. */

import { cpuTime } from "../../test/support/cpu-time.ts";

let worst = { wallMs: 0, cpuMs: 0 };
let before = { wall: performance.now(), cpu: cpuTime() };

setInterval(() => {
  const now = { wall: performance.now(), cpu: cpuTime() };
  worst = {
    wallMs: Math.max(worst.wallMs, now.wall - before.wall),
    cpuMs: Math.max(worst.cpuMs, now.cpu - before.cpu),
  };
  before = now;
}, 1).unref();

process.on("message", (message) => {
  if (message === "begin") worst = { wallMs: 0, cpuMs: 0 };
  process.send?.(worst);
});
process.on("disconnect", () => process.exit());
