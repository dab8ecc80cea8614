import { agentOf, runIdOf } from "../../observe/agent.ts";
import type { TurnSource } from "../../observe/happening.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import type { Tenant } from "../../turn/tenant.ts";
import type { Tool, Turn } from "../../turn/turn.ts";
import { headerOf, hex } from "../http/admission.ts";
import { toolBytes } from "../fold/bytes.ts";
import type { Exchange } from "../http/exchange.ts";
import type { Runtime } from "../runtime.ts";

type Sha256 = Runtime["sha256"];

/** Where a turn comes from, by the head of its request. */
export const turnSource = (
  { headers, body }: Pick<Exchange, "headers" | "body">,
  {
    tenant,
    turn,
    sha256,
  }: { readonly tenant: Tenant; readonly turn: Turn; readonly sha256: Sha256 },
): TurnSource => ({
  tenant,
  agent: agentOf(headers),
  run: runOf(headers, tenant, sha256),
  requestBytes: bytesOf(headers, body),
  toolBytes: turn.tools.length === 0 ? 0 : declaredBytes(turn.tools),
});

const declaredBytes = memoizeByIdentity((tools: readonly Tool[]): number => toolBytes(tools));

/** A body that came packed is only known by its characters. */
function bytesOf(headers: Exchange["headers"], body: string): number {
  const length =
    headers["content-encoding"] === undefined ? headerOf(headers, "content-length") : undefined;
  return length === undefined ? body.length : Number(length);
}

/** Runs send the same id for hours. */
const digests = new Map<string, string>();
const MOST_DIGESTS = 1000;
const DIGEST_BYTES = 6;

/** A digest: an agent may put a user's name or a path into the id of its run, and tenants may use the same one. */
function runOf(headers: Exchange["headers"], tenant: Tenant, sha256: Sha256): string | undefined {
  const id = runIdOf(headers);
  if (id === undefined) return undefined;
  const key = `${tenant}\n${id}`;
  let digest = digests.get(key);
  if (digest === undefined) {
    digest = hex(sha256(key).subarray(0, DIGEST_BYTES));
    if (digests.size >= MOST_DIGESTS) digests.clear();
    digests.set(key, digest);
  }
  return digest;
}
