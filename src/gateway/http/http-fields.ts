/** Schemas of the configuration fields that HTTP upstreams share. */

import { z } from "zod";
import { plannedDialects, type UpstreamEntry } from "../../dialects/registry.ts";

// What goes out with every request to an upstream is checked when it is
// configured: a request could only fail, or leave out what cannot be sent.

/** Where an upstream is, up to and without the route of its dialect, whichever that is. */
export function baseUrlFor(dialects: readonly UpstreamEntry[]) {
  const line = { model: "", stream: false };
  const paths = dialects.map(({ upstream }) => upstream.path(line));
  const routes = [...paths, ...plannedDialects.values()];
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

/** Optional, and empty means not given: that is how `${NAME:-}` says it. */
export const apiKey = z
  .string()
  // Keys are pasted and read from files, and their line end is taken off when they are sent.
  .refine((key) => VALUE.test(key.trim()), { error: UNSENDABLE })
  .optional()
  .transform((key) => (key === "" ? undefined : key));

/** Each is looked at by itself: a record that zod finds flawed is asked nothing more. */
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
