import { append } from "../../turn/append.ts";
import { z } from "zod";
import { notOneOf, problemsIn, type Path, type Problem } from "../../diagnostics/problem.ts";
import { isFields } from "../../json/json.ts";
import { nearest } from "../../diagnostics/nearest.ts";
import type { Fields } from "../../turn/turn.ts";
import { repeatedKeys } from "./keys.ts";

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

/** What a schema has against a value, with the keys that may stand where a wrong one does. */
export function schemaProblems(value: unknown, schema: z.ZodType): Problem[] {
  const parsed = schema.safeParse(value, { reportInput: true });
  if (parsed.success) return [];
  const shape = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  const keys = (path: Path): string[] => keysAt(shape, value, path);
  return parsed.error.issues
    .flatMap((issue) => problemsIn(issue, keys))
    .filter(({ path }) => path.at(-1) !== UNNAMEABLE);
}

/** The one key that JavaScript takes for something else: what stands under it would be lost on the way. */
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

/** Keys of an upstream that stand where its name should. */
function hinted({ path, message }: Problem, value: unknown): Problem {
  const isStray = path.length === 2 && path[0] === "upstreams";
  if (!isStray || typeof valueAt(value, path) !== "string") return { path, message };
  return { path, message: `${message}; give the upstream a name, and put its keys under that` };
}

/** The keys that may stand at a path, read from the schema in JSON form. */
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

/** What no single key shows: names that must fit each other. Works on whatever is there. */
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
