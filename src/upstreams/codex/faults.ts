import { filledText } from "../../dialects/shared/loose.ts";
import { Fault, type FaultCode, type FaultDetail } from "../../turn/fault.ts";
import { shown } from "../http/fault.ts";
import type { Failure } from "../retry.ts";
import { CodexError, type Cause } from "./error.ts";
import { OVERLOADED } from "./rpc.ts";
import { OLDEST_VERSION } from "./settings.ts";
import { turnFault, type CodexContext } from "./turn-error.ts";

/** What an error means to a turn that has had no event yet. */
export function failureOf(error: unknown, codex: CodexContext): Failure {
  if (!(error instanceof CodexError))
    return {
      fault: new Fault(
        "gateway.internal",
        "The gateway failed on the way to Codex; its log has the reason.",
        {},
        error,
      ),
      again: false,
    };
  const { reason } = error;
  const describe = failures[reason.type] as (codex: CodexContext, cause: Cause) => Failure;
  const failure = describe(codex, reason);
  return { ...failure, fault: shown(codex, failure.fault) };
}

/** Sending the same request again would not help. */
const final = (code: FaultCode, message: string, detail: FaultDetail = {}): Failure => ({
  fault: new Fault(code, message, detail),
  again: false,
});
const passing = (code: FaultCode, message: string, detail: FaultDetail = {}): Failure => ({
  fault: new Fault(code, message, detail),
  again: true,
});

/** Codes of failures behind Codex that may pass by themselves. */
const passingCodes: ReadonlySet<FaultCode> = new Set([
  "upstream.cut",
  "upstream.failed",
  "upstream.overloaded",
  "upstream.unreachable",
]);

const failures: {
  readonly [Type in Cause["type"]]: (
    codex: CodexContext,
    cause: Extract<Cause, { readonly type: Type }>,
  ) => Failure;
} = {
  "no-command": ({ name }, { command }) =>
    final(
      "upstream.unreachable",
      `Upstream \`${name}\` needs Codex, and there is no \`${command}\` to run. Install it (npm install -g @openai/codex), or name it in \`upstreams.${name}.command\`.`,
    ),
  "foreign-home": ({ name, home }) =>
    final(
      "upstream.unreachable",
      `Upstream \`${name}\` would have to replace ${home}/config.toml, which Patchbay did not write. Give \`upstreams.${name}.home\` a folder of its own; a sign-in in ~/.codex is found from there.`,
    ),
  "unwritable-home": ({ name, home }, { code }) =>
    final(
      "upstream.unreachable",
      `Upstream \`${name}\` cannot write to its home ${home} (${code}). Make that a folder it may write to, or name another in \`upstreams.${name}.home\`.`,
    ),
  "too-old": ({ name }, { version }) =>
    final(
      "upstream.unreachable",
      `Upstream \`${name}\` runs Codex ${version || "of an unknown version"}; it must be ${OLDEST_VERSION.join(".")} or newer. Update it: npm install -g @openai/codex.`,
    ),
  "signed-out": ({ signIn }) =>
    final("upstream.auth", `Codex is not signed in. ${signIn ?? ""}`.trim()),
  "not-started": ({ name, home }, { file, reason }) =>
    passing(
      "upstream.unreachable",
      `The Codex process of upstream \`${name}\` did not start (${reason}); run \`CODEX_HOME=${home} ${file} app-server\` by hand to see why.`,
    ),
  unstartable: (_, { error }) =>
    passing(
      "upstream.unreachable",
      "The upstream could not start Codex; the gateway's log says why.",
      {
        log: { error },
      },
    ),
  closing: () => final("gateway.stopping", "The upstream is being closed; try again."),
  // Another process is started at once, so there is nothing to wait for.
  exited: ({ name }, { reason }) => ({
    ...passing(
      "upstream.cut",
      `The Codex process of upstream \`${name}\` ended (${reason}) before the answer was over; send the request again.`,
    ),
    after: 0,
  }),
  "no-reply": (_, { method, ms }) =>
    final(
      "upstream.headers_timeout",
      `The upstream did not answer \`${method}\` within ${Math.round(ms / 1000)} s; try again.`,
      { log: { method } },
    ),
  rpc: (codex, { code, message, data }) => {
    const { name } = codex;
    if (code === OVERLOADED)
      return final("upstream.overloaded", `Upstream \`${name}\` is overloaded; try again.`, {
        retryAfter: "1",
      });
    if (data?.input_error_code === "input_too_large")
      return final(
        "upstream.too_large",
        `Upstream \`${name}\` takes no text this long; send less.`,
      );
    const error = { message: message.slice(0, 1000), codexErrorInfo: "badRequest" };
    return { fault: turnFault(error, codex), again: false };
  },
  "queue-full": ({ name }) =>
    final(
      "upstream.overloaded",
      `Upstream \`${name}\` has as many turns as it can take, and as many waiting as may wait; try again, or raise \`processes\`, \`seats\` or \`queue\`.`,
      { retryAfter: "5" },
    ),
  "turn-failed": (codex, { error }) => {
    const fault = turnFault(error, codex);
    // A failure that says when to come back is left to the client, who is told that.
    const again = passingCodes.has(fault.code) && fault.detail.retryAfter === undefined;
    return { fault, again };
  },
  offline: ({ name }, { error, started }) => {
    const details = filledText(error?.additionalDetails)?.slice(0, 2000);
    const did = started ? "lost its model in mid-answer" : "cannot reach its model";
    return passing(
      started ? "upstream.cut" : "upstream.unreachable",
      `Upstream \`${name}\` ${did}${details === undefined ? "" : ` (${details})`}. Check its \`base_url\` and the network.`,
    );
  },
  "no-content": ({ name }) =>
    final(
      "upstream.empty",
      `Upstream \`${name}\` passed nothing on: the model said nothing, or refused, which Codex does not tell. Try again, or ask otherwise.`,
    ),
  silent: ({ name }, { ms }) =>
    final(
      "upstream.idle_timeout",
      `Upstream \`${name}\` said nothing for ${Math.round(ms / 1000)} s. Try again, or raise \`timeouts.idle\`.`,
    ),
  "slow-client": ({ name }) =>
    final(
      "client.slow",
      `The answer was read so slowly that too much of it was waiting, and upstream \`${name}\` cannot be slowed down; read faster, or ask for less.`,
    ),
};
