import * as fc from "fast-check";

// Properties try the same cases in every run, so that a failure is about the change at hand;
// `npm run fuzz` tries new ones.
if (import.meta.env?.MODE !== "fuzz") fc.configureGlobal({ seed: 1 });
