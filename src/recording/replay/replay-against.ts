/** Sends a recorded request to a live upstream, and compares what kind of answer comes. */

import { filledText } from "../../dialects/shared/loose.ts";
import type { Config } from "../../gateway/config.ts";
import { openGateway } from "../../gateway/gateway.ts";
import type { Platform } from "../../gateway/state.ts";
import { Fault } from "../../turn/fault.ts";
import type { Bundle } from "../bundle/read-bundle.ts";
import { readSide, type ReadSide } from "../explain/read-answer.ts";
import { wireFrames } from "./wire-frames.ts";

export type AgainstOptions = {
  /** `upstream`, or `upstream/model`; without a model, the recorded one. */
  readonly against: string;
  readonly config: Config;
  readonly platform: Platform;
};

export type AgainstResult = {
  /** Whether the same calls were made and both answers ended alike: no two answers have the same words. */
  readonly same: boolean;
  readonly status: number;
  readonly lines: readonly string[];
};

export async function replayAgainst(
  { settings, request, done, reply }: Bundle,
  { against, config, platform }: AgainstOptions,
): Promise<AgainstResult> {
  const [asked = ""] = Object.keys(settings.models);
  const recordedModel = Object.values(settings.models)[0]?.[0]?.replace(/^[^/]*\//, "") ?? asked;
  const target = against.includes("/") ? against : `${against}/${recordedModel}`;
  if (config.upstreams[target.slice(0, target.indexOf("/"))] === undefined)
    throw new Fault(
      "request.invalid",
      `There is no upstream \`${target.slice(0, target.indexOf("/"))}\` in the configuration; there are ${Object.keys(config.upstreams).join(", ")}.`,
    );
  const live: Config = {
    ...config,
    server: { ...config.server, keys: [] },
    models: { ...config.models, [asked]: [target] },
    store: { kind: "memory" },
    telemetry: { usage_log: undefined, event_log: undefined, recording: "off" },
  };
  await using gateway = openGateway(live, { ...platform, recorder: undefined });
  const response = await gateway.fetch(
    new Request(`http://127.0.0.1${request.path}`, {
      method: request.method,
      headers: { "content-type": "application/json", ...request.headers },
      body: request.body,
    }),
  );
  const bytes = new Uint8Array(await response.arrayBuffer());
  const door = filledText(done?.["door"]) ?? "";
  const then = readSide(
    door,
    reply.chunks.map((one) => one.bytes),
    { closed: true },
  );
  const now = response.ok ? readSide(door, [bytes], { closed: true }) : undefined;
  return {
    same: now !== undefined && summaryOf(then) === summaryOf(now),
    status: response.status,
    lines: [
      `Recorded: ${reply.head?.status ?? 0}, ${summaryOf(then)}`,
      `${target}: ${response.status}, ${now === undefined ? messageIn(bytes) : summaryOf(now)}`,
    ],
  };
}

const messageIn = (bytes: Uint8Array): string =>
  wireFrames([bytes])[0]?.text.slice(0, 500) ?? "no answer";

function summaryOf(side: ReadSide | undefined): string {
  if (side === undefined) return "no answer";
  const calls = side.calls.map(({ name }) => name).join(", ");
  const text = side.text.length === 0 ? "no text" : "text";
  const problem = side.unlawful?.reason ?? side.error?.message;
  return `${text}, ${calls === "" ? "no calls" : `calls of ${calls}`}${problem === undefined ? "" : `; ${problem}`}`;
}
