/** Sends a recorded request through this gateway, against the recorded answers of its upstreams. */

import { setImmediate } from "node:timers/promises";
import { fieldsIn, fieldsOf, listOf } from "../../../dialects/shared/loose.ts";
import { parseConfig } from "../../../gateway/config.ts";
import { openGateway, type Gateway } from "../../../gateway/gateway.ts";
import type { ReplyData } from "../../../gateway/http/exchange.ts";
import { ConnectionLog } from "../../../gateway/http/session.ts";
import type { Platform } from "../../../gateway/platform.ts";
import { profileFor } from "../../../profiles/profiles.ts";
import { scripted } from "../../../profiles/scripted.ts";
import type { Clock } from "../../../turn/clock.ts";
import { Fault } from "../../../turn/fault.ts";
import { LOCAL_TENANT } from "../../../turn/tenant.ts";
import type { Upstream } from "../../../upstreams/upstream.ts";
import type { Bundle } from "../bundle.ts";
import { compareTurns, withoutQuery, type TurnDifference } from "./compare.ts";
import { RecordedUpstreams, type SentRequest } from "./recorded-upstreams.ts";

export type ReplayOptions = {
  /** Its clock is used only if the replay is paced. */
  readonly platform: Platform;
  /** Keeps the times between the pieces of an answer. */
  readonly paced: boolean;
};

/** The reply to a client. */
export type SeenReply = {
  status: number;
  headers: Readonly<Record<string, string>>;
  readonly chunks: Buffer[];
  /** The refusal of a message on a WebSocket. */
  fault?: Fault | undefined;
  /** False: the gateway waits for an event that is not in the bundle. */
  isOver: boolean;
};

export type ReplayedTurn = Readonly<SeenReply> & { readonly sent: readonly SentRequest[] };

export type Replay = {
  readonly turn: ReplayedTurn;
  readonly difference: TurnDifference | undefined;
};

export async function replayBundle(
  bundle: Bundle,
  { platform, paced }: ReplayOptions,
): Promise<Replay> {
  const time = paced ? undefined : simulatedTime(Date.parse(bundle.head.recorded));
  const clock = time ?? platform.clock;
  const upstreams = new RecordedUpstreams(bundle, clock);
  const gateway = openReplay(bundle, upstreams, { ...platform, clock });
  const { end } = bundle.reply;
  // A client that left does so again at its time.
  const { reply, ended } = askAgain(gateway, bundle, (leave) => {
    if (end?.left === true) clock.at(clock.now() + end.at, leave);
  });
  await (time === undefined ? ended : time.runUntil(() => reply.isOver));
  const { isOver } = reply;
  // Without a grace, because simulated time stops here.
  await gateway.close(0);
  const turn = { ...reply, isOver, sent: upstreams.sent };
  refuseUnstored(bundle, turn.sent.length > 0);
  return { turn, difference: compareTurns(bundle, turn) };
}

/**
 * A gateway with the settings of the recorded turn. A bundle may come from an unknown
 * sender, so under any settings the gateway cannot start a program, open a database or reach an
 * address other than the recorded upstreams.
 */
function openReplay(
  { head, settings }: Bundle,
  recorded: RecordedUpstreams,
  platform: Platform,
): Gateway {
  const upstreams: [string, unknown][] = [];
  const given: Upstream[] = [];
  for (const [name, { base_path: path, ...own }] of Object.entries(settings.upstreams)) {
    const profile = (): typeof scripted => profileFor(own.profile, own.dialect ?? "") ?? scripted;
    if (path === undefined) given.push(recorded.withoutHttp(name, profile()));
    else upstreams.push([name, { ...own, base_url: `${recorded.address(name)}${path}` }]);
  }
  const { models, tools } = settings;
  const store = { kind: "memory" };
  const config = { upstreams: Object.fromEntries(upstreams), models, tools, store };
  const { sha256, decompressors, heapBytes } = platform.runtime;
  const extensions = { ...platform, upstreams: given };
  try {
    return openGateway(parseConfig(config, extensions), {
      ...extensions,
      random: () => 0,
      recorder: undefined,
      environment: {},
      runtime: { sha256, decompressors, heapBytes, connect: recorded.connect },
    });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    throw new Fault(
      "request.invalid",
      `This version of Patchbay does not accept the settings in the bundle; use the version that recorded it (${head.gateway}), or record the turn again. ${error.message}`,
    );
  }
}

/**
 * Serves the request of a bundle by a gateway, and keeps the reply. The body is not unpacked, and
 * its bytes are not counted. `clientLeaves` receives a function that makes the client leave.
 */
export function askAgain(
  gateway: Pick<Gateway, "handle" | "sessionBudget">,
  { request }: Pick<Bundle, "request">,
  clientLeaves?: (leave: () => void) => void,
) {
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const reply: SeenReply = { status: 0, headers: {}, chunks: [], isOver: false };
  const end = (): void => {
    reply.isOver = true;
    resolve();
  };
  const keep = (data: ReplyData | undefined): void => {
    if (data !== undefined && data.length > 0) reply.chunks.push(Buffer.from(data as string));
  };
  gateway.handle({
    method: request.method,
    path: withoutQuery(request.path),
    query: request.path.slice(withoutQuery(request.path).length + 1),
    headers: { "content-type": "application/json", ...request.headers },
    body: request.body,
    ...(request.socket === true && {
      session: new ConnectionLog({ budget: gateway.sessionBudget, tenant: LOCAL_TENANT }),
    }),
    reply: {
      head: (status, headers) => void Object.assign(reply, { status, headers }),
      write: (data) => (keep(data), true),
      end(data) {
        keep(data);
        end();
      },
      ...(request.socket === true && {
        refuse(fault: Fault, headers: SeenReply["headers"]) {
          Object.assign(reply, { status: fault.status, headers, fault });
          end();
        },
      }),
      onDrain() {},
      onLeave(then) {
        clientLeaves?.(() => {
          if (reply.isOver) return;
          then();
          end();
        });
      },
    },
  });
  return { reply, ended };
}

/** Refuses to compare a turn that cannot reach an upstream without its stored conversation. */
export function refuseUnstored({ request, tries }: Bundle, reachesUpstream: boolean): void {
  if (reachesUpstream || tries.length === 0) return;
  const body = fieldsIn(request.body);
  const isReference = (item: unknown): boolean => fieldsOf(item)?.type === "item_reference";
  const part =
    ["previous_response_id", "conversation"].find((key) => (body?.[key] ?? null) !== null) ??
    (listOf(body?.input)?.some(isReference) === true ? "item_reference" : undefined);
  if (part === undefined) return;
  throw new Fault(
    "request.invalid",
    `The turn continues a conversation that its gateway stored (\`${part}\`) and that the bundle does not contain, so it cannot be replayed; record a turn that sends the whole conversation.`,
  );
}

/** A clock that jumps to the next alarm when there is no other work, so that waits take no time. */
function simulatedTime(date: number) {
  let now = 0;
  const alarms = new Set<{ readonly moment: number; readonly ring: () => void }>();
  const clock: Clock = {
    now: () => now,
    date: () => date + now,
    at(moment, ring, background) {
      const alarm = { moment, ring };
      if (background === undefined) alarms.add(alarm);
      return () => void alarms.delete(alarm);
    },
  };
  return {
    ...clock,
    /** Runs until the condition is true or no alarm is left. */
    async runUntil(isSo: () => boolean): Promise<void> {
      for (;;) {
        // Alarms start work in promises and micro-tasks.
        for (let round = 0; round < SETTLING; round++) await setImmediate();
        const [alarm] = [...alarms].toSorted((a, b) => a.moment - b.moment);
        if (isSo() || alarm === undefined) return;
        alarms.delete(alarm);
        now = Math.max(now, alarm.moment);
        alarm.ring();
      }
    },
  };
}

const SETTLING = 3;
