import { builtinDialects, standIns } from "../../dialects/registry.ts";
import type { Adapter, ModelRequest } from "../adapter.ts";
import { toolSupportOf } from "../strategy.ts";
import type { Source } from "../../stream/flow.ts";
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
import type { Tool, Turn } from "../../turn/turn.ts";
import { modelProfile } from "../../profiles/models.ts";
import type { Upstream } from "../../upstreams/upstream.ts";

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
      const stage = answerStage(plan, profile, parts.newId, report);
      yield* iterate(source, stage, signal);
    },
  };
}

function turnOf(request: ModelRequest, model: string, profile: Profile): Turn {
  // The dialect that the upstream needs the least change for.
  const { name: dialect, traits } = builtinDialects.get(profile.dialect) ?? standIns.agent;
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

/** A function without `strict` may be taken as strict, and not every schema can be. */
function unstrict<One extends Tool>(tool: One): One {
  if (tool.type === "namespace") return { ...tool, tools: tool.tools.map(unstrict) };
  return tool.type === "function" && tool.strict === undefined ? { ...tool, strict: false } : tool;
}

/** The session keeps the conversation, so that the provider returns sealed reasoning and stores nothing. */
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

function answerStage(
  plan: Plan,
  profile: Profile,
  newId: NewId,
  report: OnDecision,
): Stage<TurnEvent<UpstreamName>, TurnEvent<ClientName>> {
  const isWritten = profile.tools.written === true && plan.verdicts.length > 0;
  const stages = [new StreamNormalizer<UpstreamName>(), ...restoreAnswer(plan, report)];
  if (isWritten) stages.unshift(textCalls(plan.identity, newId, report));
  return chain(stages) as Stage<TurnEvent<UpstreamName>, TurnEvent<ClientName>>;
}

/** Most events that wait for a slow reader before the source is paused. */
const MOST_WAITING = 256;

/**
 * The events of a source through a stage, for `for await`. A slow reader pauses the
 * source, and a reader that leaves stops it. An aborted signal stops it and throws
 * its reason. The stage waits for no moment and ends no source.
 */
export async function* iterate<In, Out>(
  source: Source<In>,
  stage: Pick<Stage<In, Out>, "each" | "end">,
  signal: AbortSignal,
): AsyncGenerator<Out, void> {
  signal.throwIfAborted();
  const waiting: Out[] = [];
  const add = (event: Out): void => void waiting.push(event);
  let isOver = false;
  let isPaused = false;
  let wake = (): void => {};
  const abort = (): void => wake();
  signal.addEventListener("abort", abort, { once: true });
  const flow = source({
    each: (event) => stage.each(event, add),
    flush() {
      if (waiting.length > MOST_WAITING && !isPaused) {
        isPaused = true;
        flow.pause();
      }
      wake();
    },
    end() {
      isOver = true;
      stage.end?.(add);
      wake();
    },
  });
  try {
    for (;;) {
      signal.throwIfAborted();
      yield* waiting.splice(0);
      if (waiting.length > 0) continue;
      if (isOver) return;
      if (isPaused) {
        isPaused = false;
        flow.resume();
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (waiting.length > 0 || isOver || signal.aborted) resolve();
      });
    }
  } finally {
    signal.removeEventListener("abort", abort);
    if (!isOver) flow.stop();
  }
}
