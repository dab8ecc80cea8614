import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { code, described, table } from "./table.ts";

const source = join(import.meta.dirname, "../../src");

/** Headers that clients send. */
const requests: Readonly<Record<string, string>> = {
  authorization: "`Bearer KEY`: a key of the gateway.",
  "x-api-key": "A key of the gateway.",
  "x-goog-api-key":
    "A key of the gateway, as clients of Gemini's API send it. They get lists of models and errors in their own form.",
  "api-key": "A key of the gateway.",
  "x-request-id": "The id of the request, up to 128 ASCII characters without blanks.",
  "x-patchbay-strict": "`true`: refuse the request if anything of it would be lost. `false`: not.",
  "x-patchbay-disclosure":
    "Strategy for long lists of tools, as `tools.disclosure` ([many tools](../guides/many-tools.md)).",
  "x-patchbay-record":
    "`true`: [record](../guides/recording.md) this turn, for tenants in `recording.by_header`.",
  "x-proxy-output-mode":
    "`openai-json` or `obsidian-xml`, as `tools.output` ([several calls](../guides/several-calls.md)).",
  traceparent: "The parent span of the turn, if OpenTelemetry is loaded.",
};

/** Headers of answers. */
const answers: Readonly<Record<string, string>> = {
  "x-request-id":
    "Every answer: the client's id if it sent a valid one, otherwise a new one. It is in every log line and sent to HTTP upstreams.",
  "request-id": "Messages clients: the same id under Anthropic's name.",
  "x-patchbay-upstream": "Turns: the `upstream/model` that answers.",
  "x-patchbay-plan":
    "Turns with tools: `native=3 degraded=1 deferred=0 ignored=1`, the number of tools by verdict.",
  "x-patchbay-store": "`unconfirmed`: the answer could not be stored in time.",
  "x-patchbay-token-count": "Token counts: `upstream` or `estimate`.",
  "x-should-retry":
    "Errors: `true` or `false`, whether the same request may succeed soon. An upstream's own value is passed on; a used-up quota is `false`.",
  "retry-after": "429 and 503: seconds to wait.",
  "x-ratelimit-*": "OpenAI clients: the rest of the quotas by the minute, if there are any.",
  "anthropic-ratelimit-*": "Messages clients: the same.",
  "x-codex-stop-after-tools-mode": "Turns: `burst` or `first`, whether or not stopping is on.",
  "x-codex-tool-call-count": "Whole answers: delivered calls, over all choices.",
  "x-codex-tool-call-truncated":
    "Whole answers: `true` if a cap or a stop withheld calls, or ended a turn that might have made more.",
  "x-proxy-output-mode": "Turns with an output mode: the mode.",
};

/** The gateway's own names that the source contains. */
function namesInSource(): readonly string[] {
  const files = readdirSync(source, { recursive: true, encoding: "utf8" });
  const texts = files
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .map((file) => readFileSync(join(source, file), "utf8"));
  const found = texts.flatMap((text) =>
    [...text.matchAll(/["'`](x-(?:patchbay|codex|proxy)-[a-z-]+|x-should-retry)["'`]/g)].map(
      ([, name = ""]) => name,
    ),
  );
  return [...new Set(found)].toSorted();
}

/** `docs/reference/headers.md`; the names of the gateway's own headers are found in the source. */
export function headersPage(): string {
  const own = /^x-(?:patchbay|codex|proxy)-|^x-should-retry$/;
  const all = Object.fromEntries(
    Object.entries({ ...requests, ...answers }).filter(([name]) => own.test(name)),
  );
  described("headers", namesInSource(), all);
  const rows = (headers: Readonly<Record<string, string>>): string =>
    table(
      ["header", "meaning"],
      Object.entries(headers).map(([name, meaning]) => [code(name), meaning]),
    );
  return `# Headers

After this page you know the headers that a client may send and those that a gateway adds. \`npm run docs\` makes this page.

## Requests

${rows(requests)}

## Answers

${rows(answers)}

In a stream the figures of calls are not known when the headers are sent. They are a comment instead, after the end of the choices and before usage and \`[DONE]\`, if calls were made or withheld:

\`\`\`
: {"tool_call_count":4,"tool_call_truncated":false,"stop_after_tools_mode":"burst"}
\`\`\`

With \`store\` the comment \`: patchbay-store: unconfirmed\` replaces \`x-patchbay-store\` in a stream.
`;
}
