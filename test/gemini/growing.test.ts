import { expect, it } from "vitest";
import { growths } from "../support/growth.ts";

const all = growths(new URL("./growing-contents.ts", import.meta.url));

it.each(Object.entries(all))("reading costs what it is long: %s", (_, growth) => {
  expect(growth).toBeLessThan(2.6);
});
