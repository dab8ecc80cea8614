/** Headers of the gateway: those of a request that change its turn, and those of the answer. */
import type { DoorDialect } from "../../dialects/dialect.ts";
import { summary } from "../../tools/plan/plan.ts";
import type { CallRules } from "../../turn/rules.ts";
import type { Tool, Turn } from "../../turn/turn.ts";
import { agentOf, runIdOf } from "../../observe/agent.ts";
import type { TurnSource } from "../../observe/happening.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import type { Tenant } from "../../turn/tenant.ts";
import { DISCLOSURE_HEADER, modeIn, type DisclosureSettings } from "../fold/settings.ts";
import type { Round } from "../run/round.ts";
import { outputModes } from "../run/rules.ts";
import type { ModelRoute } from "../run/select.ts";
import type { GatewayState, RequestContext } from "../state.ts";
import { toolBytes } from "../fold/tool-size.ts";
import type { Runtime } from "../platform.ts";
import { headerOf, hex } from "./admission.ts";
import type { Exchange } from "./exchange.ts";
import { wrongParam } from "./to-fault.ts";

type Asking = { readonly state: GatewayState; readonly exchange: Pick<Exchange, "headers"> };

/** Options of a turn by the configuration or by headers of the request. */
export type TurnOptions = {
  /** The gateway's rules for calls. */
  readonly rules: CallRules;
  /** Refuses requests that would not arrive whole. */
  readonly strict: boolean;
  readonly disclosure: DisclosureSettings;
};

/** The options of one request; its headers are read only if one begins like those of the gateway. */
export function turnOptions(
  { state, exchange: { headers } }: Asking,
  { disclosure }: Pick<ModelRoute, "disclosure">,
): TurnOptions {
  const { rules, config } = state;
  for (const name in headers)
    if (name.startsWith("x-p"))
      return {
        rules: rulesIn(headers, rules),
        strict: strictIn(headers) || config.tools.strict,
        disclosure: disclosureIn(headers, disclosure),
      };
  return { rules, strict: config.tools.strict, disclosure };
}

function strictIn(headers: Exchange["headers"]): boolean {
  const param = "x-patchbay-strict";
  const value = headerOf(headers, param) ?? "";
  if (/^(?:true|1|yes|on)$/i.test(value)) return true;
  if (/^(?:|false|0|no|off)$/i.test(value)) return false;
  throw wrongParam(param, "must be `true` or `false`");
}

function rulesIn(headers: Exchange["headers"], rules: CallRules): CallRules {
  const param = "x-proxy-output-mode";
  const value = headerOf(headers, param) ?? "";
  if (value === "") return rules;
  const output = outputModes.get(value.trim().toLowerCase());
  if (output !== undefined) return { ...rules, output };
  throw wrongParam(param, "must be `openai-json` or `obsidian-xml`");
}

function disclosureIn(
  headers: Exchange["headers"],
  settings: DisclosureSettings,
): DisclosureSettings {
  const value = headerOf(headers, DISCLOSURE_HEADER) ?? "";
  return value === "" ? settings : { ...settings, mode: modeIn(value) };
}

type TurnHead = {
  readonly requestId: string;
  readonly dialect: DoorDialect;
  readonly rules: CallRules;
};

export function turnHeaders(
  { requestId, dialect: { requestIdHeader = "x-request-id" }, rules }: TurnHead,
  round: Round | undefined,
): Record<string, string> {
  const { stopMode, output } = rules;
  const headers: Record<string, string> = {
    "x-request-id": requestId,
    [requestIdHeader]: requestId,
    "x-codex-stop-after-tools-mode": stopMode,
  };
  if (output !== undefined) headers["x-proxy-output-mode"] = output;
  if (round === undefined) return headers;
  const { link, plan } = round;
  headers["x-patchbay-upstream"] = link.headerName;
  if (plan.verdicts.length > 0) headers["x-patchbay-plan"] = summary(plan);
  return headers;
}

/** The source of a turn, by the head of its request. */
export const turnSource = (
  { state, exchange: { headers, body }, tenant }: RequestContext,
  { tools }: Turn,
): TurnSource => ({
  tenant,
  agent: agentOf(headers),
  run: runOf(headers, tenant, state.runtime.sha256),
  requestBytes: bytesOf(headers, body),
  toolBytes: tools.length === 0 ? 0 : declaredBytes(tools),
});

const declaredBytes = memoizeByIdentity((tools: readonly Tool[]): number => toolBytes(tools));

/** The length of a body that came compressed is that of its text. */
function bytesOf(headers: Exchange["headers"], body: string): number {
  const length =
    headers["content-encoding"] === undefined ? headerOf(headers, "content-length") : undefined;
  return length === undefined ? body.length : Number(length);
}

/** Digests of ids of runs, kept because an agent sends the same id with each request. */
const digests = new Map<string, string>();
const MAX_DIGESTS = 1000;
const DIGEST_BYTES = 6;

/** A digest, since an id may hold a user's name or a path, and two tenants may use the same id. */
function runOf(
  headers: Exchange["headers"],
  tenant: Tenant,
  sha256: Runtime["sha256"],
): string | undefined {
  const id = runIdOf(headers);
  if (id === undefined) return undefined;
  const key = `${tenant}\n${id}`;
  let digest = digests.get(key);
  if (digest === undefined) {
    digest = hex(sha256(key).subarray(0, DIGEST_BYTES));
    if (digests.size >= MAX_DIGESTS) digests.clear();
    digests.set(key, digest);
  }
  return digest;
}
