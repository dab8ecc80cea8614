/** Sends a recorded request to a live upstream, and compares what kind of answer comes. */

import { dialectRegistry } from "../../../dialects/registry.ts";
import { fieldsIn, filledText } from "../../../dialects/shared/loose.ts";
import type { Config } from "../../../gateway/config.ts";
import { openGateway } from "../../../gateway/gateway.ts";
import { findRoute } from "../../../gateway/http/route-table.ts";
import { routeTable } from "../../../gateway/http/routes.ts";
import type { Platform } from "../../../gateway/platform.ts";
import { Fault } from "../../../turn/fault.ts";
import type { Happening } from "../../happening.ts";
import type { Bundle } from "../bundle.ts";
import { errorMessageIn, readSide, wireFrames } from "../read-answer.ts";
import {
  compareAnswers,
  compareValues,
  type AnswerDifference,
  type GivenAnswer,
} from "./compare.ts";
import { askAgain, refuseUnstored, type SeenReply } from "./replay.ts";

export type AgainstOptions = {
  /** `upstream`, or `upstream/model`; without a model, the recorded one. */
  readonly against: string;
  readonly config: Config;
  readonly platform: Platform;
};

/** What an answer comes to, for people and as JSON. */
export type AnswerSummary = {
  readonly status: number;
  readonly text: boolean;
  readonly calls: readonly string[];
  readonly problem?: string | undefined;
};

export type AgainstResult = {
  /** `upstream/model` that was asked. */
  readonly target: string;
  /** `unreachable`: nobody answered there, so that nothing was compared. */
  readonly outcome: "same" | "different" | "unreachable";
  readonly recorded: AnswerSummary;
  readonly live: AnswerSummary;
  readonly difference?: AnswerDifference | undefined;
  /** A value of a call that differs, which does not count. */
  readonly value?: AnswerDifference | undefined;
};

export async function replayAgainst(
  bundle: Bundle,
  options: AgainstOptions,
): Promise<AgainstResult> {
  const { asked, target } = targetOf(bundle, options);
  const { reply, happenings } = await askLive(bundle, options, { asked, target });
  refuseUnstored(
    bundle,
    happenings.some(({ type }) => type === "begun"),
  );
  const done = happenings.findLast((one) => one.type === "turn" || one.type === "refusal");
  const { door = "" } = bundle.done ?? {};
  const recorded = recordedAnswer(door, bundle);
  const live = liveAnswer(door, reply, done);
  const found = {
    target,
    recorded: summaryOf(recorded),
    live: summaryOf(live),
  };
  if (UNREACHABLE.test(done?.fault ?? "")) return { ...found, outcome: "unreachable" };
  const difference = compareAnswers(recorded, live);
  if (difference !== undefined) return { ...found, outcome: "different", difference };
  const value = bundle.head.content === "full" ? compareValues(recorded, live) : undefined;
  return { ...found, outcome: "same", value };
}

const UNREACHABLE = /^upstream\.(?:unreachable|connect_timeout)$/;

/** What the client asked for, and the `upstream/model` that is asked in its place. */
type Target = { readonly asked: string; readonly target: string };

function targetOf({ settings }: Bundle, { against, config }: AgainstOptions): Target {
  const [asked] = Object.keys(settings.models);
  if (asked === undefined)
    throw new Fault(
      "request.invalid",
      "The recorded request was refused before a model was chosen, so there is nothing to ask an upstream; `patchbay explain` says why.",
    );
  const [upstream = "", ...named] = against.split("/");
  const recordedModel = settings.models[asked]?.[0]?.replace(/^[^/]*\//, "") ?? asked;
  const model = named.length === 0 ? recordedModel : named.join("/");
  if (!Object.hasOwn(config.upstreams, upstream))
    throw new Fault(
      "request.invalid",
      `There is no upstream \`${upstream}\` in the configuration; name one of ${Object.keys(config.upstreams).join(", ")}.`,
    );
  // Some services have the name in their paths.
  if (/^\.*$/.test(model))
    throw new Fault(
      "request.invalid",
      `\`${against}\` names no model; write \`${upstream}\` for the recorded one, ${recordedModel}, or \`${upstream}/MODEL\`.`,
    );
  return { asked, target: `${upstream}/${model}` };
}

type LiveTurn = { readonly reply: SeenReply; readonly happenings: readonly Happening[] };

/**
 * One turn of a gateway that keeps, counts and records nothing of it. A bundle may come from
 * anyone, so the gateway has the upstream that the user named alone, and every model name leads
 * to the model that the user is told.
 */
async function askLive(
  bundle: Bundle,
  { config, platform }: AgainstOptions,
  { asked, target }: Target,
): Promise<LiveTurn> {
  const { method, path, body } = bundle.request;
  const { route } = findRoute(routeTable(dialectRegistry(platform.dialects)), method, path);
  if (method !== "POST" || route.door === undefined)
    throw new Fault(
      "request.invalid",
      `The recorded request is ${method} ${path}, which asks no model; name a turn that does.`,
    );
  const upstream = target.slice(0, target.indexOf("/"));
  const own = config.upstreams[upstream];
  const happenings: Happening[] = [];
  const names = [asked, filledText(fieldsIn(body)?.model) ?? asked, "*"];
  const live: Config = {
    ...config,
    server: { ...config.server, keys: [] },
    upstreams: own === undefined ? {} : { [upstream]: own },
    models: Object.fromEntries(names.map((name) => [name, [target]])),
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
  const turn = askAgain(gateway, bundle);
  await turn.ended;
  await gateway.close();
  return { reply: turn.seen(), happenings };
}

function recordedAnswer(door: string, { reply, done }: Bundle): GivenAnswer {
  const chunks = reply.chunks.map(({ bytes }) => bytes);
  const left = reply.end?.left === true;
  const { stops = [] } = done ?? {};
  return answerOf(door, { status: reply.head?.status ?? 0, headers: {}, chunks }, { left, stops });
}

function liveAnswer(door: string, reply: SeenReply, done: Happening | undefined): GivenAnswer {
  const stops = done?.type === "turn" ? done.stops : [];
  return answerOf(door, reply, { left: false, stops });
}

function answerOf(
  door: string,
  { status, chunks, fault }: SeenReply,
  more: Pick<GivenAnswer, "left" | "stops">,
): GivenAnswer {
  const side = status === 200 ? readSide(door, chunks, { closed: !more.left }) : undefined;
  const failed = status === 200 || (status === 0 && more.left) ? undefined : `status ${status}`;
  const problem =
    side?.unlawful?.reason ??
    side?.error?.message ??
    (failed && (fault?.message ?? errorMessageIn(wireFrames(chunks)) ?? failed));
  return { status, side, problem, ...more };
}

const summaryOf = ({ status, side, problem }: GivenAnswer): AnswerSummary => ({
  status,
  text: (side?.text.length ?? 0) > 0,
  calls: side?.calls.map(({ name }) => name) ?? [],
  problem,
});
