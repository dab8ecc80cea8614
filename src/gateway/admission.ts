import { createHash, timingSafeEqual } from "node:crypto";
import { Fault } from "../turn/fault.ts";
import type { Exchange } from "./exchange.ts";

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

/** Digests of the keys that open the gateway. Digests have one length, so comparing them tells nothing. */
export const keyring = (keys: readonly string[]): readonly Buffer[] =>
  keys.filter((key) => key !== "").map(digest);

/** Who asks: a digest of the key, or nobody in particular where none is needed. */
export type Tenant = string;

/** The last is what clients made for Azure send. */
const keyHeaders = ["x-api-key", "api-key"];

/**
 * The one place where a caller is known: any of the headers will do. Where
 * there are no keys anybody on this machine may enter, but no page that was
 * opened there and has turned its own name to this machine.
 */
export function authorize(
  { headers, foreign }: Pick<Exchange, "headers" | "foreign">,
  keys: readonly Buffer[],
): Tenant {
  if (keys.length === 0 && foreign !== undefined) throw foreignName(foreign);
  if (keys.length === 0) return "";
  const shown = [
    bearer(headerOf(headers, "authorization")),
    ...keyHeaders.map((name) => headerOf(headers, name)),
  ].filter((key) => key !== undefined && key !== "");
  if (shown.length === 0)
    throw new Fault(
      "auth.missing",
      "This gateway needs a key: send `Authorization: Bearer KEY` or `x-api-key: KEY`.",
    );
  // Every shown key is compared with every known one: how long it takes depends on neither.
  let caller: Tenant | undefined;
  for (const key of shown) {
    const hash = digest(key ?? "");
    for (const lock of keys) if (timingSafeEqual(hash, lock)) caller ??= hash.toString("hex");
  }
  if (caller !== undefined) return caller;
  throw new Fault(
    "auth.wrong",
    "The key is none of this gateway's; send one of its `server.keys`, or PATCHBAY_API_KEY where that is set.",
  );
}

const foreignName = (name: string): Fault =>
  new Fault(
    "auth.origin",
    `This gateway has no keys, and \`${name.slice(0, 100)}\` is no name of this machine; set \`server.keys\`, name \`https://${name.slice(0, 100)}\` in \`server.origins\`, or ask for 127.0.0.1.`,
  );

export function headerOf(headers: Exchange["headers"], name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" ? value : value?.[0];
}

const bearer = (value: string | undefined): string | undefined =>
  /^bearer\s+(.+)$/i.exec(value ?? "")?.[1]?.trim();

/** A browser page can send anything else to a loopback port without asking; JSON it cannot. */
export function requireJson(headers: Exchange["headers"]): void {
  const type = headerOf(headers, "content-type") ?? "";
  if (/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type)) return;
  throw new Fault(
    "request.content_type",
    `The content type is ${type === "" ? "missing" : `\`${type.slice(0, 80)}\``}; send \`content-type: application/json\`.`,
  );
}

/** The caller's id for the request, if it is one that can be shown in a header and a log. */
export function requestIdOf(headers: Exchange["headers"]): string | undefined {
  const id = headerOf(headers, "x-request-id");
  return id !== undefined && /^[\x21-\x7e]{1,128}$/.test(id) ? id : undefined;
}
