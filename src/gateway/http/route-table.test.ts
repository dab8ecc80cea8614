import { expect, it } from "vitest";
import { matchPath } from "./route-table.ts";

it("takes a path without names as it is", () => {
  expect(matchPath("/v1/responses", "/v1/responses")).toEqual({});
  expect(matchPath("/v1/responses", "/v1/responses/x")).toBeUndefined();
});

it("finds the names in a path, decoded and with their slashes", () => {
  const pattern = "/v1beta/models/{model}:{verb}";
  expect(matchPath(pattern, "/v1beta/models/up/m%201:stream")).toEqual({
    model: "up/m 1",
    verb: "stream",
  });
  expect(matchPath(pattern, "/v1beta/models/a:b:go")).toEqual({ model: "a:b", verb: "go" });
  expect(matchPath(pattern, "/v1beta/models/m")).toBeUndefined();
  expect(matchPath(pattern, "/v1beta/models/%zz:go")).toEqual({ model: "%zz", verb: "go" });
});

it("leaves the rest of a path as it is", () => {
  expect(matchPath("/v1/plans/*", "/v1/plans/a%2Fb")).toEqual({ "*": "a%2Fb" });
  expect(matchPath("/v1/plans/*", "/v1/plans/")).toBeUndefined();
});
