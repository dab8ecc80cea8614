/** Sends a recorded request through this gateway against what its upstreams said then. */

import { parseConfig, type ConfigInput } from "../../gateway/config.ts";
import { openGateway } from "../../gateway/gateway.ts";
import type { Platform } from "../../gateway/state.ts";
import { profileFor } from "../../profiles/profiles.ts";
import { scripted } from "../../profiles/scripted.ts";
import type { Upstream } from "../../upstreams/upstream.ts";
import type { Bundle } from "../bundle/read-bundle.ts";
import { askAgain, type SeenReply } from "./ask-again.ts";
import { compareTurns, type TurnDifference } from "./compare-turns.ts";
import {
  recordedUpstreams,
  type RecordedUpstreams,
  type SentRequest,
} from "./recorded-upstreams.ts";
import { refuseUnstored } from "./stored-parts.ts";
import { simulatedTime } from "./simulated-time.ts";

export type ReplayOptions = {
  /** What the gateway runs on; its clock counts only where the replay is paced. */
  readonly platform: Platform;
  /** Keeps the times between the pieces of an answer. */
  readonly paced: boolean;
};

/** What left the gateway this time. */
export type ReplayedTurn = SeenReply & {
  readonly sent: readonly SentRequest[];
  /** False: the gateway waits for something that the bundle does not have. */
  readonly isOver: boolean;
};

export type Replay = {
  readonly turn: ReplayedTurn;
  readonly difference: TurnDifference | undefined;
};

export async function replayBundle(bundle: Bundle, options: ReplayOptions): Promise<Replay> {
  const turn = await replayTurn(bundle, options);
  refuseUnstored(bundle, turn.sent.length > 0);
  return { turn, difference: compareTurns(bundle, turn) };
}

async function replayTurn(
  bundle: Bundle,
  { platform, paced }: ReplayOptions,
): Promise<ReplayedTurn> {
  const time = paced ? undefined : simulatedTime(Date.parse(bundle.head.recorded));
  const clock = time ?? platform.clock;
  const upstreams = recordedUpstreams(bundle, clock);
  const { config, given } = replayConfig(bundle, upstreams);
  const extensions = { ...platform, upstreams: [...(platform.upstreams ?? []), ...given] };
  await using gateway = openGateway(parseConfig(config, extensions), {
    ...extensions,
    clock,
    random: () => 0,
    recorder: undefined,
    runtime: { ...platform.runtime, connect: upstreams.connect },
  });
  const { end } = bundle.reply;
  // A client that left does so again at its time.
  const reply = askAgain(gateway, bundle, (leave) => {
    if (end?.left === true) clock.at(clock.now() + end.at, leave);
  });
  const isOver =
    time === undefined ? await reply.ended.then(() => true) : await time.run(reply.isOver);
  return { sent: upstreams.sent, ...reply.seen(), isOver };
}

/** The settings of the recorded turn, with its upstreams in place of theirs. */
function replayConfig(
  { settings, tries }: Bundle,
  upstreams: RecordedUpstreams,
): { readonly config: ConfigInput; readonly given: readonly Upstream[] } {
  const configured: Record<string, unknown> = {};
  const given: Upstream[] = [];
  for (const [name, { base_path, ...rest }] of Object.entries(settings.upstreams)) {
    const hasHttp = tries.some((one) => one.upstream === name && one.request !== undefined);
    if (typeof base_path === "string" || hasHttp)
      configured[name] = { ...rest, base_url: `${upstreams.address(name)}${String(base_path)}` };
    else {
      const { profile, dialect } = rest as { profile?: string; dialect?: string };
      given.push(upstreams.withoutHttp(name, profileFor(profile, dialect ?? "") ?? scripted));
    }
  }
  const { models, tools } = settings;
  const config = { upstreams: configured, models, tools, store: { kind: "memory" } };
  return { config: config as ConfigInput, given };
}
