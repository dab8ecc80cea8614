/** Sends a recorded request through this gateway against what its upstreams said then. */

import { parseConfig } from "../../../gateway/config.ts";
import { openGateway, type Gateway } from "../../../gateway/gateway.ts";
import type { Platform } from "../../../gateway/platform.ts";
import { profileFor } from "../../../profiles/profiles.ts";
import { scripted } from "../../../profiles/scripted.ts";
import { Fault } from "../../../turn/fault.ts";
import type { Upstream } from "../../../upstreams/upstream.ts";
import type { Bundle } from "../bundle.ts";
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
  const gateway = openReplay(bundle, upstreams, { ...platform, clock });
  const { end } = bundle.reply;
  // A client that left does so again at its time.
  const reply = askAgain(gateway, bundle, (leave) => {
    if (end?.left === true) clock.at(clock.now() + end.at, leave);
  });
  const isOver =
    time === undefined ? await reply.ended.then(() => true) : await time.run(reply.isOver);
  // Without a grace: simulated time stands still from here on.
  await gateway.close(0);
  return { sent: upstreams.sent, ...reply.seen(), isOver };
}

/**
 * A gateway with the settings of the recorded turn. A bundle may come from anyone, so the
 * gateway gets no means to start a program, to open a database or to reach any address but
 * the recorded upstreams, whatever the settings say.
 */
function openReplay(bundle: Bundle, upstreams: RecordedUpstreams, platform: Platform): Gateway {
  const { config, given } = replayConfig(bundle, upstreams);
  const { sha256, decompressors, heapBytes } = platform.runtime;
  const extensions = { ...platform, upstreams: given };
  try {
    return openGateway(parseConfig(config, extensions), {
      ...extensions,
      random: () => 0,
      recorder: undefined,
      environment: {},
      runtime: { sha256, decompressors, heapBytes, connect: upstreams.connect },
    });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    throw new Fault(
      "request.invalid",
      `The settings in the bundle do not fit this Patchbay; use the one that recorded it (${bundle.head.gateway}), or record the turn again. ${error.message}`,
    );
  }
}

/** The settings of the recorded turn, with its upstreams in place of theirs. */
function replayConfig(
  { settings: { models, tools, upstreams: recorded } }: Bundle,
  upstreams: RecordedUpstreams,
): { readonly config: unknown; readonly given: readonly Upstream[] } {
  const configured: [string, unknown][] = [];
  const given: Upstream[] = [];
  for (const [name, one] of Object.entries(recorded)) {
    const { dialect, profile, capabilities, retries, base_path: path } = one;
    if (path === undefined)
      given.push(upstreams.withoutHttp(name, profileFor(profile, dialect ?? "") ?? scripted));
    else {
      const base_url = `${upstreams.address(name)}${path}`;
      configured.push([name, { dialect, profile, capabilities, retries, base_url }]);
    }
  }
  const store = { kind: "memory" };
  return { config: { upstreams: Object.fromEntries(configured), models, tools, store }, given };
}
