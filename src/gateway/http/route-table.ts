import type { DoorDialect, PathParams, RequestHeaders } from "../../dialects/dialect.ts";
import { nearest } from "../../diagnostics/nearest.ts";
import { Fault } from "../../turn/fault.ts";
import type { FoundRoute, Route, RouteTable } from "../state.ts";
import type { Exchange } from "./exchange.ts";

type Pattern = { readonly shape: RegExp; readonly names: readonly string[] };

/** Compiled patterns of routes. */
const patterns = new Map<string, Pattern>();

/**
 * The parts of a path that the names in a pattern match, decoded; undefined if the path does not
 * match. `{model}` matches one or more characters, slashes included, and so does a `*` at the end;
 * `{kind=a|b}` matches one of these words.
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
    .split(/(\{\w+(?:=[\w|]+)?\}|\*$)/)
    .map((piece, at) => {
      if (at % 2 === 0) return piece.replaceAll(/[^\w/]/g, "\\$&");
      const [name = "", words = ".+"] = piece.replaceAll(/[{}]/g, "").split("=");
      names.push(name);
      return `(${words})`;
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

/** Most paths whose routes are remembered, and the longest of them. */
const MAX_KNOWN = 1_000;
const MAX_KNOWN_LENGTH = 200;

/**
 * The route for a path, with the parts of the path that it matches. HEAD is GET; the host leaves
 * the body out.
 */
export function findRoute(table: RouteTable, method: string, path: string): FoundRoute {
  const { routes, known } = table;
  const wanted = method === "HEAD" ? "GET" : method;
  const key = `${wanted} ${path}`;
  const remembered = known.get(key);
  if (remembered !== undefined) return remembered;
  requireDecodable(path);
  const place = placeOf(table, path);
  const there = routes.filter((route) => matchPath(route.path, place) !== undefined);
  const route = there.find((candidate) => candidate.method === wanted);
  if (route !== undefined) {
    const found = { route, params: matchPath(route.path, place) ?? {} };
    if (known.size >= MAX_KNOWN) known.clear();
    if (path.length <= MAX_KNOWN_LENGTH) known.set(key, found);
    return found;
  }
  const methods = there.filter(({ refuses }) => refuses !== true).map((one) => one.method);
  if (methods.length > 0)
    throw new Fault("request.method", `${path} takes ${methods.join(" and ")}, not ${method}.`, {
      allow: methods.join(", ").replace("GET", "GET, HEAD"),
    });
  const asked = place.slice(0, 200);
  throw new Fault("request.route", `There is no ${asked} here; ${adviceFor(table, path)}.`);
}

function adviceFor({ routes }: RouteTable, path: string): string {
  const door = routes.find((one) => isUnknownPath(one, path))?.door;
  if (door?.unknownPaths !== undefined) return door.unknownPaths.advice;
  const offered = routes.filter(({ refuses }) => refuses !== true);
  const near = nearest(path.slice(0, 200), [...new Set(offered.map((one) => one.path))]);
  return near === undefined
    ? "a client's base URL is this address, with or without /v1"
    : `the nearest route is ${near}`;
}

const isUnknownPath = ({ door }: Route, path: string): boolean =>
  door?.unknownPaths?.prefixes.some((one) => path.startsWith(one)) === true;

function requireDecodable(path: string): void {
  try {
    decodeURI(path);
  } catch (error) {
    throw new Fault("request.route", "The path is malformed; check its escapes.", {}, error);
  }
}

/**
 * A path as the routes have it: base URLs come with `/v1`, without it, and, with
 * clients that add a version themselves, twice with it or with two versions. Some
 * clients escape colons.
 */
function placeOf(table: RouteTable, path: string): string {
  const asked = path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
  const place = asked.replaceAll(/%3a/gi, ":");
  const bare = place.replace(/^(?:\/v1)+(?=\/)/, "");
  const forms = [place, `/v1${bare}`, bare.replace(/^(\/\w+)\1+(?=\/)/, "$1")];
  return forms.find((one) => isRouted(table, one)) ?? asked;
}

const isRouted = ({ routes }: RouteTable, place: string): boolean =>
  routes.some((route) => matchPath(route.path, place) !== undefined);

/** True if a request has a header that only clients of a door send. */
export const isClientOf = ({ models }: DoorDialect, headers: RequestHeaders): boolean =>
  models?.headers?.some((name) => headers[name] !== undefined) === true;

/** The door whose clients send a request, for refusals in its own form. */
export function doorAt(
  table: RouteTable,
  { path, headers }: Pick<Exchange, "path" | "headers">,
): DoorDialect | undefined {
  const { routes } = table;
  const place = placeOf(table, path);
  const found = routes.find(
    (one) => matchPath(one.path, place) !== undefined || isUnknownPath(one, path),
  )?.door;
  return found ?? routes.find(({ door }) => door !== undefined && isClientOf(door, headers))?.door;
}
