/** Explains a recorded turn in sentences, and finds the side at fault. */
import { errorWords } from "../../dialects/errors/error-words.ts";
import { errorFault } from "../../dialects/errors/upstream-error.ts";
import { fieldsIn, filledText, listOf } from "../../dialects/shared/loose.ts";
import { reasonOf, reasonWords } from "../../turn/failure-reason.ts";
import { jsonOf, ownOf } from "../../json/json.ts";
import type { Bundle, BundleTry } from "./bundle.ts";
import {
  bytesOf,
  errorMessageIn,
  readSide,
  stretchText,
  type ReadSide,
  wireFrames,
} from "./read-answer.ts";
import { sizesOf } from "./text-mask.ts";

type Explanation = {
  readonly id: string;
  readonly recorded: string;
  readonly content: "masked" | "full";
  readonly sentences: readonly string[];
  readonly verdict: Verdict;
};

export function explain(bundle: Bundle): Explanation {
  const { head } = bundle;
  const verdict = judge(bundle);
  const sentences = [
    askedSentence(bundle),
    ...planSentences(bundle),
    ...bundle.tries.map(trySentence),
    endSentence(bundle),
    verdictSentence(verdict),
  ];
  return { id: head.id, recorded: head.recorded, content: head.content, sentences, verdict };
}

const count = (number: number, word: string): string =>
  `${number} ${word}${number === 1 ? "" : "s"}`;

function askedSentence({ request, done, plan }: Bundle): string {
  const body = fieldsIn(request.body);
  if (body === undefined)
    return `The client sent ${request.method} ${request.path} with a body that is not a JSON object.`;
  const conversation = body.input ?? body.messages ?? body.contents;
  const items = listOf(conversation)?.length ?? (filledText(conversation) === undefined ? 0 : 1);
  const model = filledText(body.model) ?? filledText(done?.model) ?? "no model";
  const how = (done?.stream ?? body.stream === true) ? "streamed" : "not streamed";
  const tools = plan?.tools.length ?? listOf(body.tools)?.length ?? 0;
  return `The client requested ${model} (${request.method} ${request.path}, ${how}) with ${count(tools, "tool")} and ${count(items, "conversation item")}.`;
}

function planSentences({ plan }: Bundle): string[] {
  if (plan === undefined) return ["The gateway refused the request before it made a plan."];
  const { upstream, profile, straight, tools, decisions, rules } = plan;
  const changed = tools.filter(({ verdict }) => verdict !== "native");
  return [
    `The gateway sent the request to ${upstream} (profile ${profile})${straight ? " and forwarded the frames of the answer unchanged" : ""}.`,
    ...(tools.length === 0
      ? []
      : [
          `The upstream received ${tools.length - changed.length} of ${count(tools.length, "tool")} as declared${changed.length === 0 ? "." : "; the others:"}`,
        ]),
    ...changed.map(
      ({ name, verdict, upstream_name: other, reason }) =>
        `  ${name}: ${verdict}${filledText(other) === undefined || other === name ? "" : ` as ${other}`}: ${reason}`,
    ),
    ...decisions
      .filter(({ path }) => !changed.some((tool) => tool.path === path))
      .map(({ path, action, reason }) => `  ${path} was ${action}: ${reason}`),
    ...rules.map(({ path, value, reason }) => `  ${path} is ${value}: ${reason}`),
  ];
}

function trySentence({ nth, upstream, request, head, chunks, events, end }: BundleTry): string {
  const came =
    request === undefined
      ? count(events.length, "event")
      : `${count(wireFrames(bytesOf(chunks)).length, "frame")} in ${count(chunks.length, "chunk")}`;
  const status = head === undefined ? "" : ` answered ${head.status} and`;
  const ended =
    end?.error === undefined
      ? ""
      : end.error === "stopped"
        ? "; the gateway closed the connection"
        : `; the connection failed (${end.error})`;
  const why = head === undefined || head.status < 400 ? "" : refusalSentence(chunks);
  return `Request ${nth}: ${upstream}${status} sent ${came}${ended}.${why}`;
}

function refusalSentence(chunks: BundleTry["chunks"]): string {
  const raw = fieldsIn(Buffer.concat(bytesOf(chunks)).toString("utf8"));
  const error = raw === undefined ? undefined : errorWords(raw);
  if (error === undefined) return "";
  const reason = reasonOf(errorFault(error));
  const words = reasonWords(reason);
  return ` ${reason.message ?? ""}${words === "" ? "" : ` (${words})`}`;
}

function endSentence({ done, reply }: Bundle): string {
  const frames = wireFrames(bytesOf(reply.chunks));
  const sent = count(frames.length, "frame");
  if (reply.end?.left === true) return `The client disconnected after ${sent}.`;
  const { outcome = "refused", calls = { given: 0 } } = done ?? {};
  const fault = done?.fault === undefined ? "" : ` (${done.fault})`;
  const error = errorMessageIn(frames);
  return `The turn ended as ${outcome}${fault}: the client received ${reply.head === undefined ? "no status" : `status ${reply.head.status}`}, ${sent} and ${count(calls.given, "call")}${error === undefined ? "" : `: ${error.replace(/\.$/, "")}`}.`;
}

function verdictSentence({ fault, frame = 0, reason }: Verdict): string {
  if (fault === "none") return "No fault was found on either side.";
  const where = frame === 0 ? "" : ` in frame ${frame}`;
  return `The ${fault} is at fault${where}: ${reason}`.replace(/\.?$/, ".");
}

/** The side at fault, and the first frame with the problem. */
type Verdict = {
  readonly fault: "none" | "client" | "gateway" | "upstream";
  /** The number of the frame of the side at fault, from 1. */
  readonly frame?: number | undefined;
  readonly reason?: string | undefined;
};

function judge(bundle: Bundle): Verdict {
  const tried = bundle.tries.at(-1);
  const upstream = tried && readUpstream(bundle, tried);
  const client = readClient(bundle);
  const ours = unlawfulReply(bundle, client);
  if (ours !== undefined) return { fault: "gateway", ...ours };
  if (upstream?.unlawful !== undefined) return { fault: "upstream", ...upstream.unlawful };
  const lost = lostContent(bundle, upstream, client);
  if (lost !== undefined) return { fault: "gateway", ...lost };
  return failureOf(bundle, tried, upstream);
}

type Found = { readonly frame: number; readonly reason: string };

function readUpstream(
  { settings }: Bundle,
  { upstream, chunks, head }: BundleTry,
): ReadSide | undefined {
  const dialect = ownOf(settings.upstreams, upstream)?.dialect;
  if (dialect === undefined || (head?.status ?? 0) >= 300 || chunks.length === 0) return undefined;
  return readSide(dialect, bytesOf(chunks), { closed: true });
}

function readClient({ done, reply }: Bundle): ReadSide | undefined {
  const door = done?.door;
  if (door === undefined || reply.head?.status !== 200) return undefined;
  return readSide(door, bytesOf(reply.chunks), { closed: reply.end?.left !== true });
}

function unlawfulReply({ reply }: Bundle, client: ReadSide | undefined): Found | undefined {
  if (client?.unlawful !== undefined)
    return {
      ...client.unlawful,
      reason: `the reply to the client is invalid: ${client.unlawful.reason}`,
    };
  if (client !== undefined && reply.end === undefined)
    return { frame: client.frames, reason: "the reply to the client has no end" };
  const cut = client?.calls.find((call) => call.complete && !isJson(call));
  return cut === undefined
    ? undefined
    : {
        frame: cut.stretches.at(-1)?.frame ?? client?.frames ?? 0,
        reason: `the call of \`${cut.name}\` was marked complete, but its arguments are not valid JSON`,
      };
}

function isJson({ stretches }: ReadSide["calls"][number]): boolean {
  const text = stretchText(stretches);
  // Custom tools take free text.
  return !/^\s*[{[]/.test(text) || jsonOf(text) !== undefined;
}

/** The first part of the upstream's content that did not reach the client, if no rule was to change it. */
function lostContent(
  { plan, done, head, reply }: Bundle,
  upstream: ReadSide | undefined,
  client: ReadSide | undefined,
): Found | undefined {
  const mayDiffer = (plan?.rules ?? []).length > 0 || done?.rounds !== 1;
  if (mayDiffer || upstream === undefined || client === undefined) return undefined;
  if (reply.end?.left === true || upstream.unlawful !== undefined) return undefined;
  const shown = (text: string): string => (head.content === "masked" ? sizesOf(text) : text);
  const lost = firstMissing(upstream.text, shown(stretchText(client.text)), shown);
  if (lost !== undefined && !isReshaped(plan))
    return {
      frame: lost.frame,
      reason: `the client did not receive the text of upstream frame ${lost.frame} unchanged`,
    };
  for (const [at, call] of upstream.calls.entries()) {
    const own = client.calls[at];
    const [first] = call.stretches;
    // A call that the upstream did not finish need not reach the client.
    if (own === undefined && !call.complete) continue;
    if (own === undefined)
      return {
        frame: first?.frame ?? 0,
        reason: `the client did not receive the call of \`${call.name}\` in upstream frame ${first?.frame ?? 0}`,
      };
    const missing = firstMissing(call.stretches, shown(stretchText(own.stretches)), shown);
    if (missing !== undefined && isNative(plan, own.name))
      return {
        frame: missing.frame,
        reason: `the client did not receive the arguments in upstream frame ${missing.frame} unchanged`,
      };
  }
  return undefined;
}

/** The first piece of the upstream's text that differs from the text at the client. */
function firstMissing(
  stretches: ReadSide["text"],
  sent: string,
  shown: (text: string) => string,
): ReadSide["text"][number] | undefined {
  // Joined, because a piece may end within a character.
  const whole = shown(stretchText(stretches));
  if (whole === sent) return undefined;
  let at = 0;
  for (const stretch of stretches) {
    const end = at + stretch.text.length;
    if (!sent.startsWith(whole.slice(at, end), at)) return stretch;
    at = end;
  }
  return stretches.at(-1);
}

/** True if the plan itself changes the text of answers. */
const isReshaped = (plan: Bundle["plan"]): boolean =>
  plan?.decisions.some(({ path }) => /format|stop/.test(path)) === true;

/** True if the plan does not change arguments. */
const isNative = (plan: Bundle["plan"], name: string): boolean =>
  plan?.tools.some((tool) => tool.name === name && tool.verdict === "native") === true;

const clientFaults = /^(?:request|auth|tools|plan|client|limit)\./;

/** The side at fault by the fault that ended the turn. */
function failureOf(
  { done, reply }: Bundle,
  tried: BundleTry | undefined,
  upstream: ReadSide | undefined,
): Verdict {
  const { fault = "" } = done ?? {};
  const status = reply.head?.status ?? 0;
  if (done?.outcome === "failed" || (done === undefined && status >= 400)) {
    if (fault.startsWith("upstream.") || (tried?.head?.status ?? 0) >= 300)
      return {
        fault: "upstream",
        frame: upstream?.frames,
        reason: fault || `it answered with status ${tried?.head?.status}`,
      };
    if (clientFaults.test(fault) || (done === undefined && status < 500))
      return {
        fault: "client",
        reason: fault || `the gateway refused the request with status ${status}`,
      };
    return { fault: "gateway", reason: fault || `the gateway answered with status ${status}` };
  }
  return { fault: "none" };
}
