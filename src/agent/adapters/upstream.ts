import type { Dialect } from "../../dialects/dialect.ts";
import { builtinDialects, standIns } from "../../dialects/registry.ts";
import type { Adapter, ModelRequest } from "../adapter.ts";
import { toolSupportOf } from "../strategy.ts";
import { StreamNormalizer } from "../../stream/normalize.ts";
import { chain, type Stage } from "../../stream/stage.ts";
import { restoreAnswer } from "../../tools/plan/restore.ts";
import { ruleFor } from "../../tools/plan/declare.ts";
import { planTools, type Plan } from "../../tools/plan/plan.ts";
import { textCalls } from "../../tools/text-calls/text-calls.ts";
import type { Clock, NewId } from "../../turn/clock.ts";
import type { OnDecision } from "../../turn/decision.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { ClientName, UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import { LOCAL_TENANT } from "../../turn/tenant.ts";
import type { DialectTraits } from "../../turn/dialect-traits.ts";
import type { Callable, Tool, Turn } from "../../turn/turn.ts";
import { modelProfile } from "../../profiles/models.ts";
import type { Upstream } from "../../upstreams/upstream.ts";
import { iterate } from "./iterate.ts";

export type AdapterParts = { readonly clock: Clock; readonly newId: NewId };

/** A model of an upstream for agents to run on. */
export function upstreamAdapter(upstream: Upstream, model: string, parts: AdapterParts): Adapter {
  const profile = modelProfile(upstream.profile, model);
  return {
    name: `${upstream.name}/${model}`,
    ...toolSupportOf(profile, ruleFor("tool_search", profile)),
    async *call(request, { signal, report }) {
      const plan = planTools(turnOf(request, model, profile), profile);
      const prepared = upstream.prepare(plan.turn, { model, profile, straight: false });
      for (const decision of [...plan.decisions, ...prepared.decisions]) report(decision);
      const requestId = parts.newId("req");
      const source = prepared.open({ retry: true, requestId, tenant: LOCAL_TENANT });
      const stage = answerStage(plan, profile, { ...parts, report });
      yield* iterate({ source, stage, signal });
    },
  };
}

/** The dialect of a conversation that an upstream needs the least change for. */
const dialectFor = ({ dialect }: Profile): Dialect =>
  builtinDialects.get(dialect) ?? standIns.agent;

function turnOf(request: ModelRequest, model: string, profile: Profile): Turn {
  const { name: dialect, traits } = dialectFor(profile);
  return {
    ...request,
    dialect,
    traits,
    model,
    tools: traits.strictFunctions ? request.tools.map(unstrict) : request.tools,
    params: paramsOf(request, profile, traits),
    stream: true,
    usageWanted: true,
    extra: { dialect, fields: {} },
    body: {},
  };
}

/** A function that does not say so may be strict, and not every schema can be. */
function unstrict(tool: Tool): Tool {
  if (tool.type === "namespace") return { ...tool, tools: tool.tools.map(plain) };
  return plain(tool);
}

const plain = (tool: Callable): Callable =>
  tool.type === "function" && tool.strict === undefined ? { ...tool, strict: false } : tool;

/** The session keeps the conversation: the provider need not, and gives its reasoning along, sealed. */
function paramsOf(
  { params }: ModelRequest,
  { reasoning, params: known }: Profile,
  { sealsReasoning }: DialectTraits,
): Turn["params"] {
  if (!sealsReasoning) return params;
  const isSealed = reasoning === "items" && known.include !== null;
  return {
    ...(known.store !== null && { store: false }),
    ...(isSealed && { include: ["reasoning.encrypted_content"] }),
    ...params,
  };
}

type Answering = { readonly newId: NewId; readonly report: OnDecision };

function answerStage(
  plan: Plan,
  profile: Profile,
  { newId, report }: Answering,
): Stage<TurnEvent<UpstreamName>, TurnEvent<ClientName>> {
  const isWritten = profile.tools.written === true && plan.verdicts.length > 0;
  const stages = [new StreamNormalizer<UpstreamName>(), ...restoreAnswer(plan, report)];
  if (isWritten) stages.unshift(textCalls(plan.identity, newId, report));
  return chain(stages) as Stage<TurnEvent<UpstreamName>, TurnEvent<ClientName>>;
}
