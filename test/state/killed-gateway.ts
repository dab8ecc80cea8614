import { flushCompileCache } from "node:module";
import { serve } from "../support/serve.ts";

// Serves the demo with a store in a file until it is killed, and prints where.
const [path = ""] = process.argv.slice(2);
const { url } = await serve({ store: { kind: "sqlite", path } });
process.stdout.write(`${url}\n`);
// One that is killed would not keep what it has compiled for the next.
flushCompileCache();
