/** Tells a recorded turn in sentences. */

import { errorWords } from "../../../dialects/errors/error-words.ts";
import { errorFault } from "../../../dialects/errors/upstream-error.ts";
import { fieldsIn, filledText, listOf } from "../../../dialects/shared/loose.ts";
import { reasonOf, reasonWords } from "../../../turn/failure-reason.ts";
import type { Bundle, BundleTry } from "../bundle/read-bundle.ts";
import { wireFrames } from "../replay/wire-frames.ts";
import { judge, type Verdict } from "./judge.ts";
import { errorMessageIn } from "./read-answer.ts";

export type Explanation = {
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

function askedSentence({ request, done }: Bundle): string {
  const body = fieldsIn(request.body);
  if (body === undefined)
    return `The client sent ${request.method} ${request.path} with a body that is no JSON object.`;
  const said = body.input ?? body.messages;
  const items = listOf(said)?.length ?? (filledText(said) === undefined ? 0 : 1);
  const model = filledText(body.model) ?? filledText(done?.model) ?? "no model";
  const how = body.stream === true ? "as a stream" : "as a whole";
  return `The client asked for ${model} (${request.method} ${request.path}, ${how}) with ${count(listOf(body.tools)?.length ?? 0, "tool")} and ${count(items, "item")} of conversation.`;
}

function planSentences({ plan }: Bundle): string[] {
  if (plan === undefined) return ["No plan was made: the request was refused before."];
  const { upstream, profile, straight, tools, decisions, rules } = plan;
  const changed = tools.filter(({ verdict }) => verdict !== "native");
  return [
    `It went to ${upstream} (profile ${profile})${straight ? ", whose frames were forwarded as they came" : ""}.`,
    ...(tools.length === 0
      ? []
      : [
          changed.length === 0
            ? `All ${count(tools.length, "tool")} arrived as declared.`
            : `Of ${count(tools.length, "tool")}, ${changed.length} did not arrive as declared:`,
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
      : `${count(wireFrames(chunks.map(({ bytes }) => bytes)).filter(({ type }) => type !== "comment").length, "frame")} in ${count(chunks.length, "piece")}`;
  const status = head === undefined ? "" : ` answered ${head.status} and`;
  const ended =
    end?.error === undefined
      ? ""
      : end.error === "stopped"
        ? "; the gateway hung up"
        : `; the connection failed (${end.error})`;
  const why = head === undefined || head.status < 400 ? "" : refusalSentence(chunks);
  return `Call ${nth}: ${upstream}${status} sent ${came}${ended}.${why}`;
}

/** What an upstream said of its refusal, as operators read it. */
function refusalSentence(chunks: BundleTry["chunks"]): string {
  const raw = fieldsIn(Buffer.concat(chunks.map(({ bytes }) => bytes)).toString("utf8"));
  const said = raw === undefined ? undefined : errorWords(raw);
  if (said === undefined) return "";
  const reason = reasonOf(errorFault(said));
  const words = reasonWords(reason);
  return ` ${reason.message ?? ""}${words === "" ? "" : ` (${words})`}`;
}

function endSentence({ done, reply }: Bundle): string {
  const frames = wireFrames(reply.chunks.map(({ bytes }) => bytes));
  const sent = count(frames.filter(({ type }) => type !== "comment").length, "frame");
  if (reply.end?.left === true) return `The client left after ${sent}.`;
  const { outcome = "refused", calls = { given: 0 } } = done ?? {};
  const fault = done?.fault === undefined ? "" : ` (${done.fault})`;
  const said = errorMessageIn(frames);
  return `It ended as ${outcome}${fault}: the client was sent ${reply.head?.status ?? "nothing"}, ${sent} and ${count(calls.given, "call")}${said === undefined ? "" : `: ${said.replace(/\.$/, "")}`}.`;
}

function verdictSentence({ fault, frame, reason = "" }: Verdict): string {
  const where = frame === undefined || frame === 0 ? "" : `, frame ${frame}`;
  switch (fault) {
    case "none":
      return "Nothing is unlawful on either side.";
    case "client":
      return `The fault is the client's: ${reason}.`;
    case "upstream":
      return `The fault is the upstream's${where}: ${reason}`.replace(/\.?$/, ".");
    case "gateway":
      return `The fault is the gateway's${where}: ${reason}`.replace(/\.?$/, ".");
    default:
      return fault satisfies never;
  }
}
