import { expect, it } from "vitest";
import { growths } from "../support/growth.ts";

const all = growths(new URL("./growing-requests.ts", import.meta.url));

it.each(Object.entries(all))("costs what it is long: %s", (_, growth) => {
  expect(growth).toBeLessThan(2.6);
});
