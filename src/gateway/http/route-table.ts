import type { DoorDialect, PathParams } from "../../dialects/dialect.ts";
import { nearest } from "../../diagnostics/nearest.ts";
import { Fault } from "../../turn/fault.ts";
import type { Route, RouteTable } from "../state.ts";

type Pattern = { readonly shape: RegExp; readonly names: readonly string[] };

/** Compiled patterns of routes. */
const patterns = new Map<string, Pattern>();

/**
 * The parts of a path that the names in a pattern match, decoded; undefined if the path does not
 * match. `{model}` matches one or more characters, slashes included, and so does a `*` at the end.
 */
export function matchPath(pattern: string, path: string): PathParams | undefined {
  if (!/[{*]/.test(pattern)) return pattern === path ? {} : undefined;
  let known = patterns.get(pattern);
  if (known === undefined) patterns.set(pattern, (known = compile(pattern)));
  const [, ...values] = known.shape.exec(path) ?? [];
  if (values.length === 0) return undefined;
  return Object.fromEntries(known.names.map((name, at) => [name, decoded(values[at] ?? "")]));
}

function compile(pattern: string): Pattern {
  const names: string[] = [];
  const shape = pattern
    .split(/(\{\w+\}|\*$)/)
    .map((piece, at) => {
      if (at % 2 === 0) return piece.replaceAll(/[^\w/]/g, "\\$&");
      names.push(piece.replaceAll(/[{}]/g, ""));
      return "(.+)";
    })
    .join("");
  return { shape: new RegExp(`^${shape}$`, "s"), names };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // `findRoute` refuses a malformed path, and no stored id has a malformed escape.
  }
}

type Found = { readonly route: Route; readonly params: PathParams };

/**
 * The route for a path, with the parts of the path that it matches. HEAD is GET; the host leaves
 * the body out.
 */
export function findRoute(table: RouteTable, method: string, path: string): Found {
  const { routes, exact } = table;
  const wanted = method === "HEAD" ? "GET" : method;
  const known = exact.get(`${wanted} ${path}`);
  if (known !== undefined) return { route: known, params: {} };
  requireDecodable(path);
  const place = placeOf(table, path);
  const there = routes.filter((route) => matchPath(route.path, place) !== undefined);
  const route = there.find((candidate) => candidate.method === wanted);
  if (route !== undefined) return { route, params: matchPath(route.path, place) ?? {} };
  const offered = routes.filter(({ refuses }) => refuses !== true);
  const methods = there.filter((one) => offered.includes(one)).map((one) => one.method);
  if (methods.length > 0)
    throw new Fault("request.method", `${path} takes ${methods.join(" and ")}, not ${method}.`, {
      allow: methods.join(", ").replace("GET", "GET, HEAD"),
    });
  const asked = place.slice(0, 200);
  const near = nearest(asked, [...new Set(offered.map((one) => one.path))]);
  throw new Fault(
    "request.route",
    `There is no ${asked} here; ${near === undefined ? "a client's base URL is this address, with or without /v1" : `the nearest route is ${near}`}.`,
  );
}

function requireDecodable(path: string): void {
  try {
    decodeURI(path);
  } catch (error) {
    throw new Fault("request.route", "The path is malformed; check its escapes.", {}, error);
  }
}

/**
 * A path as the routes have it: base URLs come with `/v1`, without it, and, with
 * clients that add it themselves, twice with it.
 */
function placeOf(table: RouteTable, path: string): string {
  const place = path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
  if (isRouted(table, place)) return place;
  const versioned = `/v1${place.replace(/^(?:\/v1)+(?=\/)/, "")}`;
  return isRouted(table, versioned) ? versioned : place;
}

const isRouted = ({ routes }: RouteTable, place: string): boolean =>
  routes.some((route) => matchPath(route.path, place) !== undefined);

/** The door whose clients ask for a path, for refusals in its own form. */
export function doorAt(table: RouteTable, path: string): DoorDialect | undefined {
  const place = placeOf(table, path);
  return table.routes.find(
    ({ path: own, door }) =>
      matchPath(own, place) !== undefined || door?.prefixes?.some((one) => path.startsWith(one)),
  )?.door;
}
