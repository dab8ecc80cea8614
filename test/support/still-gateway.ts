import { parseConfig, type ConfigInput } from "../../src/gateway/config.ts";
import { openGateway } from "../../src/gateway/gateway.ts";
import type { ReplyData } from "../../src/gateway/http/exchange.ts";
import { nodeRuntime } from "../../src/host/platform/node.ts";
import type { Happening, TurnDone } from "../../src/observe/happening.ts";
import type { DoorName } from "./client.ts";
import { stillClock } from "./still-clock.ts";

/** What a client was told, when it was all said, and what the gateway reported. */
export type StillAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** How long it took, by the clock. */
  readonly ms: number;
  readonly happenings: readonly Happening[];
  readonly turn: TurnDone;
  readonly metrics: string;
  /** What `/v1/usage` sums up. */
  readonly usage: Readonly<Record<string, unknown>>;
};

type Asking = {
  readonly path: string;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The client leaves after so long. */
  readonly leaveAt?: number;
  /** The client takes so long to read what it is sent at a time. */
  readonly readsIn?: number;
};

type Burst = {
  readonly door: DoorName;
  readonly stream: boolean;
  readonly n: number;
  /** The schemas of the functions it declares, by their names. */
  readonly schemas: Readonly<Record<string, unknown>>;
};

/** A request that may be answered with calls. */
export function askingFor({ door, stream, n, schemas }: Burst): Pick<Asking, "path" | "body"> {
  const functions = Object.entries(schemas).map(([name, parameters]) => ({ name, parameters }));
  const asked = { model: "m", stream };
  if (door === "responses") {
    const tools = functions.map((one) => Object.assign({ type: "function" }, one));
    return { path: "/v1/responses", body: { ...asked, input: "Go.", tools } };
  }
  return {
    path: "/v1/chat/completions",
    body: {
      ...asked,
      n,
      messages: [{ role: "user", content: "Go." }],
      tools: functions.map((one) => ({ type: "function", function: one })),
      ...(stream && { stream_options: { include_usage: true } }),
    },
  };
}

/** Time passes in such steps. */
const STEP_MS = 10;

/** Asks a gateway whose clock stands still but for what the answer waits for. */
export async function askStill(config: ConfigInput, asking: Asking): Promise<StillAnswer> {
  const clock = stillClock(1_700_000_000_000);
  const begun = clock.now();
  const happenings: Happening[] = [];
  let ids = 0;
  const gateway = openGateway(parseConfig(config), {
    clock,
    newId: (prefix) => `${prefix}_${++ids}`,
    random: () => 0.5,
    runtime: nodeRuntime,
    report: (happening) => void happenings.push(happening),
  });
  let status = 0;
  let headers: Readonly<Record<string, string>> = {};
  let text = "";
  const state = { isOver: false };
  let leave = (): void => {};
  let drain = (): void => {};
  const [path = "", query = ""] = asking.path.split("?");
  gateway.handle({
    method: "POST",
    path,
    query,
    headers: { "content-type": "application/json", ...asking.headers },
    body: JSON.stringify(asking.body),
    reply: {
      head(said, fields) {
        status = said;
        headers = fields;
      },
      write(piece) {
        text += piece;
        if (asking.readsIn === undefined) return true;
        clock.at(clock.now() + asking.readsIn, () => drain());
        return false;
      },
      end(piece = "") {
        text += piece;
        state.isOver = true;
      },
      onDrain: (then) => void (drain = then),
      onLeave: (then) => void (leave = then),
    },
  });
  for (let passed = 0; !state.isOver && passed < 100_000; passed += STEP_MS) {
    await new Promise(setImmediate);
    if (asking.leaveAt !== undefined && clock.now() - begun >= asking.leaveAt) {
      leave();
      break;
    }
    if (!state.isOver) clock.move(STEP_MS);
  }
  const ms = clock.now() - begun;
  const turn = happenings.find((happening) => happening.type === "turn");
  if (turn === undefined) throw new Error(`no turn was reported: ${text}`);
  // The push sink costs a fraction of a `Request` and its `Response`.
  const look = (path: string): Promise<string> =>
    new Promise((resolve) => {
      let looked = "";
      const reply = {
        head: () => {},
        write: (piece: ReplyData) => Boolean((looked += String(piece))),
        end: (piece: ReplyData = "") => resolve(looked + String(piece)),
        onDrain: () => {},
        onLeave: () => {},
      };
      gateway.handle({ method: "GET", path, query: "", headers: {}, body: "", reply });
    });
  const metrics = await look("/metrics");
  const usage = JSON.parse(await look("/v1/usage")) as StillAnswer["usage"];
  await gateway.close(0);
  return { status, headers, text, ms, happenings, turn, metrics, usage };
}
