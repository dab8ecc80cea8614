/** Sends a recorded request through this gateway against what its upstreams said then. */

import { parseConfig, type ConfigInput } from "../../gateway/config.ts";
import type { Exchange, ReplyData } from "../../gateway/exchange.ts";
import { openGateway, type Gateway } from "../../gateway/gateway.ts";
import { Session } from "../../gateway/session.ts";
import type { Platform } from "../../gateway/state.ts";
import { profileFor } from "../../profiles/profiles.ts";
import { scripted } from "../../profiles/scripted.ts";
import type { Fault } from "../../turn/fault.ts";
import type { Upstream } from "../../upstreams/upstream.ts";
import type { Bundle } from "../bundle/read-bundle.ts";
import { compareTurns, type TurnDifference } from "./compare-turns.ts";
import {
  recordedUpstreams,
  type RecordedUpstreams,
  type SentRequest,
} from "./recorded-upstreams.ts";
import { simulatedTime } from "./simulated-time.ts";

export type ReplayOptions = {
  /** What the gateway runs on; its clock counts only where the replay is paced. */
  readonly platform: Platform;
  /** Keeps the times between the pieces of an answer. */
  readonly paced: boolean;
};

/** What left the gateway this time. */
export type ReplayedTurn = {
  readonly sent: readonly SentRequest[];
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly chunks: readonly Buffer[];
  /** False: the gateway waits for something that the bundle does not have. */
  readonly isOver: boolean;
};

export type Replay = {
  readonly turn: ReplayedTurn;
  readonly difference: TurnDifference | undefined;
};

export async function replayBundle(bundle: Bundle, options: ReplayOptions): Promise<Replay> {
  const turn = await replayTurn(bundle, options);
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
  const reply = askAgain(gateway, bundle, (moment, then) => clock.at(clock.now() + moment, then));
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

type Asked = {
  readonly isOver: () => boolean;
  readonly ended: Promise<void>;
  readonly seen: () => Pick<ReplayedTurn, "status" | "headers" | "chunks">;
};

/** Serves the recorded request; a client that left does so again at its time. */
function askAgain(
  gateway: Gateway,
  { request, reply }: Bundle,
  later: (ms: number, then: () => void) => void,
): Asked {
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  let [status, isOver] = [0, false];
  let headers: Readonly<Record<string, string>> = {};
  const chunks: Buffer[] = [];
  const end = (): void => {
    isOver = true;
    resolve();
  };
  const keep = (data: ReplyData | undefined): void => {
    if (data !== undefined && data.length > 0) chunks.push(Buffer.from(data as string));
  };
  const refuse = (fault: Fault, fields: Readonly<Record<string, string>>): void => {
    [status, headers] = [fault.status, fields];
    end();
  };
  const exchange: Exchange = {
    method: request.method,
    path: request.path,
    query: "",
    headers: { "content-type": "application/json", ...request.headers },
    body: request.body,
    ...(request.socket === true && { session: new Session() }),
    reply: {
      head: (code, fields) => void ([status, headers] = [code, fields]),
      write: (data) => (keep(data), true),
      end(data) {
        keep(data);
        end();
      },
      ...(request.socket === true && { refuse }),
      onDrain() {},
      onLeave(then) {
        if (reply.end?.left !== true) return;
        later(reply.end.at, () => {
          if (isOver) return;
          then();
          end();
        });
      },
    },
  };
  gateway.handle(exchange);
  return { isOver: () => isOver, ended, seen: () => ({ status, headers, chunks }) };
}
