import { expect, it } from "vitest";
import { findRoute, matchPath } from "./route-table.ts";

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

it("gives the rest of a path under the name of its pattern", () => {
  expect(matchPath("/v1/plans/*", "/v1/plans/a%2Fb")).toEqual({ "*": "a/b" });
  expect(matchPath("/v1/plans/*", "/v1/plans/")).toBeUndefined();
});

it("refuses a path that cannot be decoded", () => {
  const malformed = expect.objectContaining({ code: "request.route", status: 404 });
  const table = { routes: [], known: new Map() };
  expect(() => findRoute(table, "GET", "/%zz")).toThrow(malformed);
});

it("finds a route again by its path, and not by another method", () => {
  const serve = (): void => {};
  const routes = [{ method: "POST", path: "/v1beta/models/{model}:go", serve }];
  const table = { routes, known: new Map() };
  const first = findRoute(table, "POST", "/v1beta/models/m:go");
  expect(findRoute(table, "POST", "/v1beta/models/m:go")).toBe(first);
  expect(findRoute(table, "POST", "/v1beta/models/n:go").params).toEqual({ model: "n" });
  expect(() => findRoute(table, "GET", "/v1beta/models/m:go")).toThrow(/takes POST/);
});
