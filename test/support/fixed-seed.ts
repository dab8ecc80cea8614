import * as fc from "fast-check";

fc.configureGlobal({ seed: 1 });
