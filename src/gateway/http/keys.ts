/** Reads `server.keys`: keys, and the names of their tenants. */

import { z } from "zod";
import type { Path, Problem } from "../../diagnostics/problem.ts";
import { isFields } from "../../json/json.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";

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

/** Whether several tenants share the upstreams, whose keys do not tell them apart. */
export const haveSeveralTenants = memoizeByIdentity(
  (keys: readonly ServerKey[]): boolean =>
    new Set(keys.map((key) => (typeof key === "string" ? key : key.name))).size > 1,
);

/** Keys listed twice: which tenant such a key means would depend on the order of the list. */
export function repeatedKeys(keys: unknown): Problem[] {
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
