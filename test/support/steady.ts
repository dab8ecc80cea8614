import * as fc from "fast-check";

// The gate's verdict is about the change at hand, so properties try the same cases each time;
// `npm run fuzz` looks for new ones.
if (import.meta.env?.MODE !== "fuzz") fc.configureGlobal({ seed: 1 });
