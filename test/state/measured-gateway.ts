import { flushCompileCache } from "node:module";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { serve } from "../support/serve.ts";

// Serves the demo with a store in a file, and says when it is asked how long its event
// loop stood still since then, and what its requests hold.
const [path = ""] = process.argv.slice(2);
const { url, gateway } = await serve({
  store: { kind: "sqlite", path },
  upstreams: { demo: { dialect: "scripted" } },
});
const loop = monitorEventLoopDelay({ resolution: 5 });
loop.enable();
process.on("message", () => {
  process.send?.({ blockedMs: loop.max / 1e6, held: gateway.examined().memory.held });
  loop.reset();
});
process.on("disconnect", () => process.exit(0));
process.send?.({ url });
// One that just exits would not keep what it has compiled for the next.
flushCompileCache();
