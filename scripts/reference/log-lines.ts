import { mainTypes, stepTypes } from "../../src/observe/bus.ts";
import { code, described, table } from "./table.ts";

/** Log lines of happenings: `level; fields; meaning`. */
const happenings: Readonly<
  Record<string, readonly [level: string, fields: string, meaning: string]>
> = {
  begun: [
    "debug",
    "`requestId`, `door`, `route`, `model`, `upstream`, `tenant`, `requestBytes`, `toolBytes`, `stream`, `agent`, `run`",
    "A request was read and its first upstream is about to be called. `run` is a digest of the agent's session id.",
  ],
  turn: ["info; failed: warn", "see below", "A turn has ended; one line for each turn."],
  round: [
    "debug",
    "`requestId`, `round`, `upstream`, `provider`, `fault`, `usage`, `ms`",
    "An upstream call of a turn has ended.",
  ],
  step: ["debug", "`requestId`, `step`, `ms`", "A turn has reached a step."],
  attempt: [
    "debug",
    "`requestId`, `attempt`, `upstream`, `status`, `fault`, `reason`, `waitMs`, `atMs`, `ms`",
    "A request to an upstream has ended.",
  ],
  call: [
    "debug",
    "`requestId`, `choice`, `call`, `name`, `kind`, `atMs`, `ms`, `argumentChars`, `outcome`",
    "A tool call has ended.",
  ],
  fallback: [
    "warn",
    "`requestId`, `from`, `to`, `fault`, `reason`",
    "An upstream failed before its first event, and the next of the chain is called.",
  ],
  refusal: [
    "info; 5xx: warn",
    "`at`, `requestId`, `route`, `status`, `fault`, `param`",
    "A request was refused before it became a turn.",
  ],
  trouble: [
    "error",
    "`requestId`, `error`, `frames`",
    "An error of the gateway itself, with its place in the source and without its text.",
  ],
  reload: [
    "info; invalid: error",
    "`ok`, `problems`",
    "The configuration file has changed. An invalid one is ignored.",
  ],
  unwritable: [
    "error",
    "`setting`, `path`, `problem`",
    "A log file or folder cannot be written. Requests are still served.",
  ],
  store: [
    "error; available: info; waits: warn",
    "`event`, `requestId`, `fault`, `problem`",
    "`unavailable`, `available`: the database cannot be used, or can again. `lost`: a turn was not stored. `late`: not before its client had the answer. `waits`: expired rows are kept because the clock may have been set.",
  ],
  child: [
    "by event",
    "`upstream`, `event`, `pid`, `reason`, `bytes`, `percent`",
    "A child process: `started`, `gone`, `noise` (it wrote to standard error), `limits` (`percent` of its allowance is used), `keeps-log` (its log could not be emptied), or messages that were dropped.",
  ],
  blocked: [
    "warn",
    "`work`, `requestId`, `ms`",
    "Work on one request held the event loop longer than `server.block_budget_ms`.",
  ],
};

const others = [
  [
    "`stopping on SIGTERM`, `stopping on SIGINT`, `stopping on SIGHUP`, `stopping with its parent`",
    "info",
    "",
    "The gateway stops.",
  ],
  ["`uncaught`", "error", "`name`, `code`, `frames`", "An error that belongs to no request."],
  ["`log lines lost`", "warn", "`lines`", "The reader of the log was too slow."],
];

/** `docs/reference/log-lines.md`; the kinds of lines are those that the gateway reports. */
export function logLinesPage(): string {
  const meanings = Object.fromEntries(
    Object.entries(happenings).map(([name, [, , meaning]]) => [name, meaning]),
  );
  const rows = described("log lines", [...mainTypes, ...stepTypes], meanings).map(
    ([name, meaning]) => {
      const [level = "", fields = ""] = happenings[name] ?? [];
      return [code(name), level, fields, meaning];
    },
  );
  return `# Log lines

After this page you can read and filter the log of a gateway. The kinds of lines are compared with the code (\`npm run docs\`).

The log is JSON lines on standard error. Each has \`time\`, \`level\` and \`msg\`. No line contains content or a key. \`--log-level\` (\`debug\`, \`info\`, \`warn\`, \`error\`, \`silent\`; default \`info\`) sets the lowest level. \`reason\` is the upstream's own \`code\` and \`type\`; with \`telemetry.upstream_messages: true\` also its \`message\`, up to 300 characters, which may quote a request.

${table(["`msg`", "level", "fields", "meaning"], [...rows, ...others])}

## The line of a turn

\`requestId\`, \`door\`, \`model\` (the requested name), \`upstream\` (\`upstream/model\`), \`stream\`, \`straight\` (frames were forwarded unchanged), \`outcome\`, \`status\`, \`fault\`, \`reason\`, \`stops\` (the end of each choice), \`tool_call_count_total\`, \`tool_call_truncated_total\` (1 if the calls of this turn were truncated), \`stop_after_tools_mode\`, \`stop_after_tools_enabled\`, \`tool_block_max\`, \`suppress_tail_after_tools\`, \`withheld\`, \`repeated\`, \`inputTokens\`, \`outputTokens\`, \`tokensEstimated\`, \`plan\`, \`decisions\`, \`ms\`, \`firstEventMs\`.

## The usage log

\`telemetry.usage_log\` gets one line per turn: \`ts\`, \`phase\`, \`event\` and \`component\` (\`usage_summary\`, \`usage\`), \`req_id\`, \`route\`, \`method\`, \`status_code\`, \`outcome\`, \`error_code\`, \`requested_model\`, \`effective_model\`, \`stream\`, \`prompt_tokens\`, \`completion_tokens\`, \`total_tokens\`, \`cached_tokens\`, \`cache_write_tokens\`, \`reasoning_tokens\` (null if unknown), \`counts_source\` (\`event\`, \`estimate\` or \`none\`), \`duration_ms\`, \`time_to_first_token_ms\`, \`emission_trigger\` (\`turn_end\`, \`stop_after_tools\`, \`client_abort\` or the fault), \`finish_reason\`, \`has_tool_calls\`, \`tool_call_count_total\`, \`tool_call_truncated_total\`, \`stop_after_tools_mode\`, \`stop_after_tools_enabled\`, \`tool_block_max\`, \`suppress_tail_after_tools\`, \`tool_calls_withheld\`, \`tool_calls_repeated\`, \`choice_count\`, \`output_mode\`.

## The event log

\`telemetry.event_log\` gets the steps of each turn, joined by \`req_id\`. Every line has \`ts\`, \`phase\`, \`kind\` and \`req_id\`.

${table(
  ["`phase`", "`kind`", "further fields"],
  [
    ["`http_ingress`", "`client_request`", "`route`, `method`, `requested_model`, `stream`"],
    ["`http_ingress`", "`refusal`", "`route`, `status_code`, `error_code`"],
    ["`backend_lifecycle`", "`fallback`", "`from`, `to`, `error_code`"],
    [
      "`client_egress`",
      "`tool_call_summary`",
      "`tool_calls_by_choice`, `parallel_supported`, `tool_call_count_total`, `tool_call_truncated_total`, `stop_after_tools_mode`, `stop_after_tools_enabled`, `tool_block_max`, `suppress_tail_after_tools`, `tool_calls_withheld`, `tool_calls_repeated`",
    ],
    [
      "`client_egress`",
      "`client_sse_done` or `client_json`",
      "`outcome`, `status_code`, `error_code`, `finish_reason`, `effective_model`, `duration_ms`, `time_to_first_token_ms`",
    ],
  ],
)}
`;
}
