/** What `plan`, `doctor`, `smoke`, `launch` and the commands for bundles use of the gateway's own parts. */

export type { ModelRequest } from "./agent/adapter.ts";
export { upstreamAdapter, type AdapterParts } from "./agent/adapters/upstream.ts";
export { builtinDialects, type UpstreamEntry } from "./dialects/registry.ts";
export { BodyReader } from "./dialects/shared/body.ts";
export { openPlatform } from "./gateway/platform.ts";
export { disclosureFor } from "./gateway/fold/settings.ts";
export type { ToolSize } from "./gateway/fold/tool-size.ts";
export { keyring } from "./gateway/http/admission.ts";
export type { Capabilities } from "./gateway/capabilities.ts";
export { listModels } from "./gateway/run/select.ts";
export { planTurn, type PlanPreview } from "./gateway/http/plan-routes.ts";
export { type PlanReport } from "./gateway/run/plan-record.ts";
export { callRules } from "./gateway/run/rules.ts";
export { selectChain } from "./gateway/run/select.ts";
export { openUpstreams } from "./gateway/upstreams.ts";
export { findBundle } from "./observe/recording/recorder.ts";
export { readBundle, type Bundle } from "./observe/recording/bundle.ts";
export { explain } from "./observe/recording/explain.ts";
export { readSide, stretchText, wireFrames } from "./observe/recording/read-answer.ts";
export { scrubber, secretsIn } from "./observe/recording/secrets.ts";
export type { TurnDifference } from "./observe/recording/replay/compare.ts";
export {
  replayAgainst,
  type AgainstResult,
  type AnswerDifference,
} from "./observe/recording/replay/replay-against.ts";
export { replayBundle } from "./observe/recording/replay/replay.ts";
export { MAX_TURN_BYTES } from "./observe/recording/turn-record.ts";
export { anthropic } from "./profiles/anthropic.ts";
export { gemini } from "./profiles/gemini.ts";
export { isOwnModel, modelProfile } from "./profiles/models.ts";
export { openaiResponses } from "./profiles/openai.ts";
export { qwen } from "./profiles/qwen.ts";
export { errorsIn } from "./schema/check.ts";
export { AnswerFold } from "./stream/fold.ts";
export { readUseTool } from "./tools/text-calls/use-tool.ts";
export type { Clock } from "./turn/clock.ts";
export { isLossy, type Decision } from "./turn/decision.ts";
export type { Usage } from "./turn/event.ts";
export { clientName, type ClientName } from "./turn/names.ts";
export type { Profile, ToolChoiceForm } from "./turn/profile.ts";
export type { OutputMode } from "./turn/rules.ts";
export { proxyFor } from "./upstreams/http/proxy.ts";
export type { RouteReply, Upstream } from "./upstreams/upstream.ts";
