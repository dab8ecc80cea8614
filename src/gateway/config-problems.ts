import { z } from "zod";
import { append } from "../turn/append.ts";
import { notOneOf, type Path, type Problem, issueProblems } from "../diagnostics/problem.ts";
import { isFields } from "../json/json.ts";
import { nearest } from "../diagnostics/nearest.ts";
import type { Fields } from "../turn/turn.ts";
import type { UpstreamEntry } from "../dialects/registry.ts";
import { memoizeByIdentity } from "../turn/memoize.ts";

const TENANT_NAME = /^[A-Za-z0-9][\w.-]{0,63}$/;

const namedKey = z.strictObject({
  /** The tenant. Several keys may have one name: that is how a key is replaced without losing state. */
  name: z.string().min(1, { abort: true }).regex(TENANT_NAME, {
    error:
      "must begin with a letter or a digit and hold only letters, digits, `.`, `_` and `-`, at most 64; choose another name",
  }),
  key: z.string().nullable(),
});

const isGiven = (key: string | { readonly key: string | null } | null): boolean =>
  key !== null && key !== "" && (typeof key === "string" || isGiven(key.key));

/** A key with its tenant's name, or a bare key, whose tenant is named by its digest. */
export type ServerKey = string | { readonly name: string; readonly key: string };

/** `server.keys`. An empty key counts as not given, since `${NAME:-}` leaves an empty text. */
export const keysSchema = z
  .array(
    z.union([z.string().nullable(), namedKey], {
      error: "must be a key as text, or `{ name, key }`",
    }),
  )
  .default([])
  .transform((keys) => keys.filter((key): key is ServerKey => isGiven(key)));

/** True if several tenants share the upstreams: an upstream sees one key and cannot tell them apart. */
export const haveSeveralTenants = memoizeByIdentity(
  (keys: readonly ServerKey[]): boolean =>
    new Set(keys.map((key) => (typeof key === "string" ? key : key.name))).size > 1,
);

/** Keys listed twice: which tenant such a key means would depend on the order of the list. */
function repeatedKeys(keys: unknown): Problem[] {
  if (!Array.isArray(keys)) return [];
  const first = new Map<string, Path>();
  return keys.flatMap((entry: unknown, index) => {
    const [key, path] = isFields(entry) ? [entry.key, [index, "key"]] : [entry, [index]];
    if (typeof key !== "string" || key === "") return [];
    const earlier = first.get(key);
    if (earlier === undefined) {
      first.set(key, path);
      return [];
    }
    const message = `is the same key as \`server.keys[${earlier[0]}]\`; list a key once, under one name`;
    return [{ path: ["server", "keys", ...path], message }];
  });
}

type Surroundings = {
  readonly dialectNames: readonly string[];
  /** The names of upstreams that are not the configuration's. */
  readonly given: readonly string[];
};

/** Everything wrong with a configuration, by its schema and across its parts. */
export function findProblems(
  raw: unknown,
  schema: z.ZodType,
  { dialectNames, given }: Surroundings,
): Problem[] {
  const { value, problems } = settleDialects(raw, dialectNames);
  append(
    problems,
    schemaProblems(value, schema).map((problem) => hinted(problem, value)),
  );
  return [...problems, ...unnameable(raw, []), ...crossProblems(raw, given)];
}

/** Problems of a value under a schema. Those of a wrong key list the keys that are allowed there. */
export function schemaProblems(value: unknown, schema: z.ZodType): Problem[] {
  const parsed = schema.safeParse(value, { reportInput: true });
  if (parsed.success) return [];
  const shape = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  const keys = (path: Path): string[] => keysAt(shape, value, path);
  return parsed.error.issues
    .flatMap((issue) => issueProblems(issue, keys))
    .filter(({ path }) => path.at(-1) !== UNNAMEABLE);
}

/** The key that sets the prototype of a JavaScript object: its value would be lost. */
function unnameable(value: unknown, path: Path): Problem[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const at = [...path, Array.isArray(value) ? Number(key) : key];
    if (key === UNNAMEABLE) return [{ path: at, message: "cannot be a name here; choose another" }];
    return unnameable(inner, at);
  });
}

const UNNAMEABLE = "__proto__";

/**
 * An upstream whose dialect is wrong would hide what else is wrong with it, so
 * the rest is checked as the dialect it most likely means.
 */
function settleDialects(
  raw: unknown,
  dialectNames: readonly string[],
): { value: unknown; problems: Problem[] } {
  const problems: Problem[] = [];
  if (!isFields(raw) || !isFields(raw.upstreams)) return { value: raw, problems };
  const upstreams = Object.entries(raw.upstreams).map(([name, upstream]) => {
    if (!isFields(upstream)) return [name, upstream];
    const dialect = upstream.dialect;
    if (typeof dialect === "string" && dialectNames.includes(dialect)) return [name, upstream];
    const meant = meantDialect(upstream, dialectNames);
    const what = dialect === undefined ? "is missing" : `is none of ${dialectNames.join(", ")}`;
    const message =
      meant === undefined
        ? notOneOf(dialectNames, dialect)
        : `${what}; did you mean \`dialect: ${meant}\`?`;
    problems.push({ path: ["upstreams", name, "dialect"], message });
    return [name, { ...upstream, dialect: meant ?? PLAINEST }];
  });
  return { value: { ...raw, upstreams: Object.fromEntries(upstreams) as Fields }, problems };
}

/** The dialect whose upstreams have only what all have, for those that have no more. */
const PLAINEST = "scripted";

function meantDialect(upstream: Fields, dialectNames: readonly string[]): string | undefined {
  const dialect = upstream.dialect;
  const near = typeof dialect === "string" ? nearest(dialect, dialectNames) : undefined;
  if (near !== undefined) return near;
  if ("script" in upstream) return "scripted";
  if ("command" in upstream || "home" in upstream) return "codex";
  const overHttp = ["base_url", "api_key", "headers", "timeouts", "retries", "connections"];
  // The first in the list is what most providers speak.
  return overHttp.some((key) => key in upstream) ? dialectNames[0] : undefined;
}

/** Adds a hint to the problem of an upstream's key in the place of the upstream's name. */
function hinted({ path, message }: Problem, value: unknown): Problem {
  const isStray = path.length === 2 && path[0] === "upstreams";
  if (!isStray || typeof valueAt(value, path) !== "string") return { path, message };
  return { path, message: `${message}; give the upstream a name, and put its keys under that` };
}

/** The keys that are allowed at a path, read from the schema in JSON form. */
function keysAt(shape: Fields, value: unknown, path: Path): string[] {
  let shapes = alternatives(shape, value);
  let here = value;
  for (const key of path) {
    here = isFields(here) || Array.isArray(here) ? (here as Fields)[key] : undefined;
    shapes = shapes.flatMap((outer) => {
      const inner = inside(outer, String(key));
      return inner === undefined ? [] : alternatives(inner, here);
    });
  }
  return [...new Set(shapes.flatMap(keysOf))];
}

function inside(shape: Fields, key: string): Fields | undefined {
  const { properties, additionalProperties, items } = shape;
  if (isFields(properties) && isFields(properties[key])) return properties[key];
  if (isFields(additionalProperties)) return additionalProperties;
  return isFields(items) ? items : undefined;
}

/** The branches of a union that the value may mean: those whose constants it does not contradict. */
function alternatives(shape: Fields, value: unknown): Fields[] {
  const branches = shape.oneOf ?? shape.anyOf;
  if (!Array.isArray(branches)) return [shape];
  const all = branches.filter(isFields);
  const fitting = all.filter((branch) => agrees(branch, value));
  return fitting.length > 0 ? fitting : all;
}

function agrees(branch: Fields, value: unknown): boolean {
  if (!isFields(value) || !isFields(branch.properties)) return false;
  return Object.entries(branch.properties).every(([key, rule]) => {
    if (!isFields(rule) || value[key] === undefined) return true;
    if ("const" in rule) return rule.const === value[key];
    return key !== "dialect" || !Array.isArray(rule.enum) || rule.enum.includes(value[key]);
  });
}

function keysOf(shape: Fields): string[] {
  if (isFields(shape.properties)) return Object.keys(shape.properties);
  const names = shape.propertyNames;
  return isFields(names) && Array.isArray(names.enum) ? names.enum.map(String) : [];
}

/** Problems between keys: names that must fit each other. Takes an invalid configuration too. */
function crossProblems(raw: unknown, given: readonly string[]): Problem[] {
  if (!isFields(raw)) return [];
  const configured = isFields(raw.upstreams) ? Object.keys(raw.upstreams) : [];
  const upstreams = [...configured, ...given];
  const problems = isFields(raw.server) ? repeatedKeys(raw.server.keys) : [];
  for (const name of upstreams)
    if (!/^[^/\s]+$/.test(name))
      problems.push({
        path: ["upstreams", name],
        message:
          "holds a slash or a blank; models are addressed as `upstream/model`, so name it without",
      });
  for (const [at, name] of upstreams.entries())
    if (upstreams.indexOf(name) !== at)
      problems.push({
        path: ["upstreams", name],
        message: "is the name of an upstream that was given too; choose another for one of them",
      });
  if (!isFields(raw.models)) return problems;
  for (const [model, to] of Object.entries(raw.models)) {
    const path = ["models", model];
    if (typeof to === "string") append(problems, placeProblems(to, path, upstreams));
    if (!Array.isArray(to)) continue;
    for (const [index, place] of to.entries())
      if (typeof place === "string")
        append(problems, placeProblems(place, [...path, index], upstreams));
  }
  return problems;
}

function placeProblems(place: string, path: Path, upstreams: readonly string[]): Problem[] {
  if (place === "") return [];
  const [, upstream, model] = /^([^/]*)\/(.*)$/s.exec(place) ?? [];
  const known = upstreams.length === 0 ? "none is configured" : `there are ${upstreams.join(", ")}`;
  if (upstream === undefined || upstream === "" || model === undefined || model === "")
    return [{ path, message: `\`${place}\` must be \`upstream/model\`; ${known}` }];
  if (upstreams.includes(upstream)) return [];
  const near = nearest(upstream, upstreams);
  const remedy = near === undefined ? known : `did you mean \`${near}/${model}\`?`;
  return [{ path, message: `there is no upstream \`${upstream}\`; ${remedy}` }];
}

function valueAt(value: unknown, path: Path): unknown {
  let here = value;
  for (const key of path) {
    if (typeof here !== "object" || here === null) return undefined;
    here = (here as Fields)[key];
  }
  return here;
}

// Addresses, keys and headers are checked here, since a request could only fail with wrong ones.

/** The address of an upstream, without the route of its dialect. */
export function baseUrlFor(dialects: readonly UpstreamEntry[]) {
  // A name that can be part of a path.
  const line = { model: "none", stream: false };
  const routes = dialects.map(({ upstream }) => upstream.path(line));
  return z.string().superRefine((address, context) => {
    const message = addressFlaw(URL.parse(address), routes);
    if (message !== undefined) context.addIssue({ code: "custom", message });
  });
}

function addressFlaw(url: URL | null, routes: readonly string[]): string | undefined {
  if (url === null || !/^https?:$/.test(url.protocol))
    return "is not an http(s) address; write it whole, such as `https://api.example.com/v1`";
  if (url.username !== "" || url.password !== "")
    return "holds a user name or a password, and they would not be sent; use `api_key` or `headers`";
  if (url.hash !== "") return "holds a `#`, and what follows it would not be sent; leave it out";
  const bare = url.pathname.replace(/\/+$/, "");
  const route = routes.find((one) => bare.endsWith(one));
  if (route === undefined) return undefined;
  return `ends in the route; leave \`${url.pathname.slice(bare.length - route.length)}\` out`;
}

const NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const NO_NAME = "is no name of a header; use letters, digits and `-`";
const UNSENDABLE =
  "holds a character that a header cannot carry; look for line breaks and signs that do not show";

/** Optional. An empty text counts as left out, since `${NAME:-}` leaves one. */
export const apiKey = z
  .string()
  // A key read from a file ends with a line break, which is removed when it is sent.
  .refine((key) => VALUE.test(key.trim()), { error: UNSENDABLE })
  .optional()
  .transform((key) => (key === "" ? undefined : key));

/** Checks each header apart, because zod stops at the first check of a record that fails. */
export const headers = z
  .record(z.string(), z.unknown())
  .superRefine((configured, context) => {
    for (const [name, value] of Object.entries(configured)) {
      const path = [name];
      if (!NAME.test(name)) context.addIssue({ code: "custom", message: NO_NAME, path });
      if (typeof value !== "string")
        context.addIssue({ code: "invalid_type", expected: "string", input: value, path });
      else if (!VALUE.test(value)) context.addIssue({ code: "custom", message: UNSENDABLE, path });
    }
  })
  .pipe(z.record(z.string(), z.string()));
