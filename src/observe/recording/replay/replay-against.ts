/** Sends a recorded request to a live upstream, and compares the kind of answer. */

import { dialectRegistry } from "../../../dialects/registry.ts";
import { fieldsIn, filledText } from "../../../dialects/shared/loose.ts";
import type { Config } from "../../../gateway/config.ts";
import { openGateway } from "../../../gateway/gateway.ts";
import { findRoute } from "../../../gateway/http/route-table.ts";
import { routeTable } from "../../../gateway/http/routes.ts";
import type { Platform } from "../../../gateway/platform.ts";
import { isFields, jsonOf } from "../../../json/json.ts";
import { Fault } from "../../../turn/fault.ts";
import type { Happening } from "../../happening.ts";
import type { Bundle } from "../bundle.ts";
import {
  bytesOf,
  errorMessageIn,
  readSide,
  stretchText,
  wireFrames,
  type ReadCall,
} from "../read-answer.ts";
import { withoutQuery } from "./compare.ts";
import { askAgain, refuseUnstored, type SeenReply } from "./replay.ts";

export type AgainstOptions = {
  /** `upstream`, or `upstream/model`; without a model, the recorded one. */
  readonly against: string;
  readonly config: Config;
  readonly platform: Platform;
};

type GivenSummary = Pick<GivenAnswer, "status" | "text" | "problem"> & {
  readonly calls: readonly string[];
};

export type AnswerDifference = {
  readonly what: string;
  readonly recorded?: unknown;
  readonly live?: unknown;
};

export type AgainstResult = {
  /** The `upstream/model` that was asked. */
  readonly target: string;
  /** `unreachable`: the upstream did not answer, and nothing was compared. */
  readonly outcome: "same" | "different" | "unreachable";
  readonly recorded: GivenSummary;
  readonly live: GivenSummary;
  readonly difference?: AnswerDifference | undefined;
};

export async function replayAgainst(
  bundle: Bundle,
  options: AgainstOptions,
): Promise<AgainstResult> {
  const target = targetOf(bundle, options);
  const { reply, happenings } = await askLive(bundle, options, target);
  refuseUnstored(
    bundle,
    happenings.some(({ type }) => type === "begun"),
  );
  const ended = happenings.findLast((one) => one.type === "turn" || one.type === "refusal");
  const { door = "", stops = [] } = bundle.done ?? {};
  const { head, chunks, end } = bundle.reply;
  const past = { status: head?.status ?? 0, chunks: bytesOf(chunks) };
  const recorded = answerOf(door, past, { left: end?.left === true, stops });
  const liveStops = ended?.type === "turn" ? ended.stops : [];
  const live = answerOf(door, reply, { left: false, stops: liveStops });
  const found = { target, recorded: summaryOf(recorded), live: summaryOf(live) };
  if (UNREACHABLE.test(ended?.fault ?? "")) return { ...found, outcome: "unreachable" };
  const difference = compareAnswers(recorded, live);
  return { ...found, outcome: difference === undefined ? "same" : "different", difference };
}

const UNREACHABLE = /^upstream\.(?:unreachable|connect_timeout)$/;

/** The `upstream/model` to ask. */
function targetOf({ settings }: Bundle, { against, config }: AgainstOptions): string {
  const [asked] = Object.keys(settings.models);
  if (asked === undefined)
    throw new Fault(
      "request.invalid",
      "The gateway refused the recorded request before it chose a model, so there is no request for an upstream; run `patchbay explain` for the reason.",
    );
  const [upstream = "", ...named] = against.split("/");
  const recordedModel = settings.models[asked]?.[0]?.replace(/^[^/]*\//, "") ?? asked;
  const model = named.length === 0 ? recordedModel : named.join("/");
  if (!Object.hasOwn(config.upstreams, upstream))
    throw new Fault(
      "request.invalid",
      `There is no upstream \`${upstream}\` in the configuration; name one of ${Object.keys(config.upstreams).join(", ")}.`,
    );
  // Some services take the name as a part of their paths.
  if (/^\.*$/.test(model))
    throw new Fault(
      "request.invalid",
      `\`${against}\` contains no model name; write \`${upstream}\` to use the recorded model (${recordedModel}), or \`${upstream}/MODEL\`.`,
    );
  return `${upstream}/${model}`;
}

/**
 * One turn of a gateway that neither stores nor records it. A bundle may come from an unknown
 * sender, so the gateway only has the upstream that the user named, and every model name leads to
 * `target`.
 */
async function askLive(
  bundle: Bundle,
  { config, platform }: AgainstOptions,
  target: string,
): Promise<{ readonly reply: SeenReply; readonly happenings: readonly Happening[] }> {
  const { method, path, body } = bundle.request;
  const { route } = findRoute(
    routeTable(dialectRegistry(platform.dialects)),
    method,
    withoutQuery(path),
  );
  if (method !== "POST" || route.door === undefined)
    throw new Fault(
      "request.invalid",
      `The recorded request is ${method} ${path}, which does not call a model; choose another turn.`,
    );
  const upstream = target.slice(0, target.indexOf("/"));
  const own = config.upstreams[upstream];
  const happenings: Happening[] = [];
  const names = [...Object.keys(bundle.settings.models), filledText(fieldsIn(body)?.model), "*"];
  const live: Config = {
    ...config,
    server: { ...config.server, keys: [] },
    upstreams: own === undefined ? {} : { [upstream]: own },
    models: Object.fromEntries(names.map((name = "*") => [name, [target]])),
    store: { kind: "memory" },
    telemetry: {
      ...config.telemetry,
      usage_log: undefined,
      event_log: undefined,
      recording: "off",
    },
  };
  await using gateway = openGateway(live, {
    ...platform,
    recorder: undefined,
    report: (happening) => void happenings.push(happening),
  });
  const { reply, ended } = askAgain(gateway, bundle);
  await ended;
  await gateway.close();
  return { reply, happenings };
}

type GivenAnswer = {
  readonly status: number;
  readonly text: boolean;
  readonly calls: readonly ReadCall[];
  readonly problem: string | undefined;
  /** The end of each choice, if it is known. */
  readonly stops: readonly string[];
  /** True if the client left, so that more may have come. */
  readonly left: boolean;
};

function answerOf(
  door: string,
  {
    status,
    chunks,
    fault,
  }: Pick<SeenReply, "status" | "fault"> & {
    readonly chunks: readonly Buffer[];
  },
  more: Pick<GivenAnswer, "left" | "stops">,
): GivenAnswer {
  const side = status === 200 ? readSide(door, chunks, { closed: !more.left }) : undefined;
  const failed = status === 200 || (status === 0 && more.left) ? undefined : `status ${status}`;
  const problem =
    side?.unlawful?.reason ??
    side?.error?.message ??
    (failed && (fault?.message ?? errorMessageIn(wireFrames(chunks)) ?? failed));
  return { status, text: (side?.text.length ?? 0) > 0, calls: side?.calls ?? [], problem, ...more };
}

const summaryOf = ({ status, text, calls, problem }: GivenAnswer): GivenSummary => ({
  status,
  text,
  calls: calls.map(({ name }) => name),
  problem,
});

/**
 * The first difference that counts: success or failure, its calls and their properties, its end.
 * Texts are not compared, because no two answers of a model have the same words.
 */
function compareAnswers(recorded: GivenAnswer, live: GivenAnswer): AnswerDifference | undefined {
  if ((recorded.problem === undefined) !== (live.problem === undefined)) {
    const [now, then] =
      live.problem === undefined ? ["succeeds", "failed"] : ["fails", "succeeded"];
    return { what: `the request ${now}, but the recorded one ${then}` };
  }
  if (recorded.status !== live.status)
    return { what: "the status differs", recorded: recorded.status, live: live.status };
  const found = compareCalls(recorded.calls, live.calls, recorded.left);
  if (found !== undefined || recorded.left) return found;
  // A model may or may not add a text to its calls.
  if (recorded.calls.length === 0 && recorded.text !== live.text)
    return {
      what: live.text ? "only the live answer has text" : "only the recorded answer has text",
    };
  const [was, is] = [recorded.stops.join(", "), live.stops.join(", ")];
  return was === is || was === "" || is === ""
    ? undefined
    : { what: "the stop reason differs", recorded: was, live: is };
}

function compareCalls(
  recorded: readonly ReadCall[],
  live: readonly ReadCall[],
  left: boolean,
): AnswerDifference | undefined {
  // The calls of a client that left may have been cut anywhere.
  const known = left ? recorded.filter(({ complete }) => complete) : recorded;
  for (const [at, then] of known.entries()) {
    const now = live[at];
    if (now?.name !== then.name)
      return { what: `call ${at + 1} differs`, recorded: then.name, live: now?.name };
    const found = firstProperty(argumentsOf(then), argumentsOf(now));
    if (found !== undefined) return { ...found, what: `${nameOf(then, at)}: ${found.what}` };
  }
  const extra = live[known.length];
  return extra === undefined || left
    ? undefined
    : { what: `call ${known.length + 1} differs`, recorded: undefined, live: extra.name };
}

const nameOf = ({ name }: ReadCall, at: number): string => `call ${at + 1} (${name})`;

/** JSON, or the input of a tool that takes text. */
function argumentsOf({ stretches }: ReadCall): unknown {
  const text = stretchText(stretches);
  return jsonOf(text) ?? text;
}

/** The first property that is missing on one side or has another type. Entries of lists are not compared. */
function firstProperty(recorded: unknown, live: unknown, path = ""): AnswerDifference | undefined {
  const place = path === "" ? "the arguments" : `\`${path}\``;
  if (typeOf(recorded) !== typeOf(live))
    return { what: `the type of ${place} differs`, recorded, live };
  if (!isFields(recorded) || !isFields(live)) return undefined;
  for (const key of new Set([...Object.keys(recorded), ...Object.keys(live)])) {
    const at = path === "" ? key : `${path}.${key}`;
    const [was, is] = [Object.hasOwn(recorded, key), Object.hasOwn(live, key)];
    if (was !== is) return { what: `\`${at}\` differs`, recorded: recorded[key], live: live[key] };
    const found = firstProperty(recorded[key], live[key], at);
    if (found !== undefined) return found;
  }
  return undefined;
}

const typeOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "list" : typeof value;
