import { append } from "../../turn/append.ts";
import type { Decision } from "../../turn/decision.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Turn } from "../../turn/turn.ts";
import type { Target, Written } from "../dialect.ts";
import { fieldsOf } from "../shared/loose.ts";
import { addFields, paramPath, writeExtra, writeParams } from "../shared/params.ts";
import { bodyWith, forwardChanges } from "../shared/source-text.ts";
import { withTools } from "../shared/tools-text.ts";
import { writeToolChoice } from "./tool-choice.ts";
import { writeFormat } from "./format.ts";
import { writeTools } from "./tools.ts";
import { chatTraits } from "./traits.ts";
import { writeMessages } from "./write-messages.ts";

/** Writes a turn as a Chat Completions request, and reports what the form has no room for. */
export function writeRequest(turn: Turn<UpstreamName>, to: Target): Written {
  return to.straight ? forward(turn, to) : translate(turn, to);
}

/** The client's own request, under the upstream's name for the model. */
function forward({ body, stream }: Turn<UpstreamName>, { profile, model }: Target): Written {
  const changes: Record<string, unknown> = forwardChanges(body, { model, stream, profile });
  const options = fieldsOf(body.stream_options);
  if (stream && profile.streamUsage && options?.include_usage !== true)
    changes.stream_options = { ...options, include_usage: true };
  return { text: bodyWith(body, changes), decisions: [] };
}

function translate(turn: Turn<UpstreamName>, { profile, model }: Target): Written {
  const { messages, decisions } = writeMessages(turn, profile);
  const params = writeParams(turn, { name: "chat", traits: chatTraits }, profile);
  const tools = writeTools(turn.tools);
  const body: Record<string, unknown> = { model, messages, ...params.fields };
  append(decisions, params.decisions);
  append(decisions, tools.decisions);

  if (turn.toolChoice !== undefined) body.tool_choice = writeToolChoice(turn.toolChoice);
  if (tools.text === undefined) append(decisions, dropToolFields(body, turn));
  append(decisions, askForFormat(body, turn));
  // The number of alternatives alone does not switch them on.
  if (body.top_logprobs !== undefined) body.logprobs = true;
  if (body.top_logprobs === 0) delete body.top_logprobs;
  if (turn.stream) append(decisions, writeStream(body, turn, profile));
  append(decisions, writeExtra(turn, "chat", body));
  addFields(body, profile);
  const text = tools.text === undefined ? JSON.stringify(body) : withTools(body, tools.text);
  return { text, decisions };
}

/** Text is what comes unasked, and not every upstream knows the word for it. */
function askForFormat(
  body: Record<string, unknown>,
  { format, traits }: Turn<UpstreamName>,
): Decision[] {
  if (format === undefined || format.type === "text") return [];
  body.response_format = writeFormat(format);
  if (body.response_format !== undefined) return [];
  const reason = "the chat dialect has no such format";
  return [{ path: traits.format.path, action: "dropped", reason }];
}

/** Fields about tools mean nothing where there are none, and upstreams refuse them. */
function dropToolFields(body: Record<string, unknown>, turn: Turn<UpstreamName>): Decision[] {
  const decisions: Decision[] = [];
  const drop = (key: string, path: string): void => {
    if (body[key] === undefined) return;
    delete body[key];
    decisions.push({ path, action: "repaired", reason: "it means nothing without tools" });
  };
  drop("tool_choice", "tool_choice");
  drop("parallel_tool_calls", paramPath("parallelCalls", turn.traits));
  return decisions;
}

function writeStream(
  body: Record<string, unknown>,
  turn: Turn<UpstreamName>,
  profile: Profile,
): Decision[] {
  body.stream = true;
  if (profile.streamUsage) body.stream_options = { include_usage: true };
  else if (turn.usageWanted && turn.dialect === "chat")
    return [
      {
        path: "stream_options.include_usage",
        action: "dropped",
        reason: `the ${profile.name} profile does not count tokens in streams when asked`,
      },
    ];
  return [];
}
