import { expect, it } from "vitest";
import { builtinDialects } from "../../src/dialects/registry.ts";
import { clients } from "./clients.ts";

it("looks at every door there is", () => {
  expect(clients.map(({ door, path }) => [door, path])).toEqual(
    builtinDialects.doors.map(({ name, door }) => [name, door.routes[0]]),
  );
});
