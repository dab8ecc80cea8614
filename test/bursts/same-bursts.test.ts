import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseConfig, type ConfigInput } from "../../src/gateway/config.ts";
import { burstInChat, burstInResponses, type Part } from "../support/burst-model.ts";
import {
  askWithin,
  doors,
  readBody,
  readStream,
  type DoorName,
  upstreamDialects,
} from "../support/client.ts";
import { command, missing } from "../codex-upstream/gateway.ts";
import { crossProduct, type RowOf } from "../support/cross-product.ts";
import type { FakeCall } from "../support/fake-model.ts";
import { fakeUpstream, type Body, type FakeUpstream } from "../support/fake-upstream.ts";
import { serve, type Served } from "../support/serve.ts";

const backs = ["chat", "responses", "codex"] as const;
type Back = (typeof backs)[number];

const parameters = {
  look: { type: "object", properties: { city: { type: "string" }, days: { type: "integer" } } },
  find: { type: "object", properties: { text: { type: "string" } } },
};

const call = (at: number, name: string, input: string): { call: FakeCall } => ({
  call: { id: `call_${at}`, name, arguments: input },
});

/** The third call repeats the first in other words. */
const four = [
  call(0, "look", '{"city":"Zürich 🏔️","days":2}'),
  call(1, "find", '{"text":"a < b && \\"c\\" 漢字 e\u0301"}'),
  call(2, "look", '{"days": 2, "city": "Zürich 🏔️"}'),
  call(3, "find", "{}"),
];
const eight = Array.from({ length: 8 }, (_, at) => call(at, "look", `{"city":"${at} 東京"}`));
const opening = { text: "Let me see: é 👩🏽‍🚀." };
const tail = { text: "That is all I asked for. ✅" };

const dimensions = {
  burst: ["two", "four", "eight"],
  max: [0, 2],
  stop: ["off", "first", "burst"],
  dedup: [false, true],
  suppressTail: [false, true],
} as const;
type Row = RowOf<typeof dimensions>;
const bursts: Readonly<Record<Row["burst"], readonly { call: FakeCall }[]>> = {
  two: four.slice(0, 2),
  four,
  eight,
};

const rows = crossProduct(dimensions)
  // All rules on the burst that has something for each of them; of the others, what they add.
  .filter(({ burst, dedup, suppressTail }) => burst === "four" || (!dedup && !suppressTail));

/** What the model does: where it is to be stopped it waits for that, and longer than anybody would. */
function playedIn({ burst, max, stop }: Row): readonly Part[] {
  const calls = bursts[burst];
  const most = stop === "first" ? 1 : max > 0 ? max : calls.length;
  if (stop === "off") return [opening, ...calls, tail];
  return [opening, ...calls.slice(0, most), "wait", ...calls.slice(most), tail];
}

const rulesOf = ({ max, stop, dedup, suppressTail }: Row): ConfigInput["tools"] => ({
  block_max: max,
  block_dedup: dedup,
  block_delimiter: "\n--\n",
  stop_after: stop !== "off",
  stop_after_mode: stop === "first" ? "first" : "burst",
  stop_after_grace_ms: 100,
  suppress_tail: suppressTail,
});

/** A gateway before all three, which play the same. */
class BurstGateway {
  playing: readonly Part[] = [];
  readonly models: Readonly<Record<Back, FakeUpstream>>;
  readonly served: Served;
  readonly #config: ConfigInput;
  readonly #home: string;

  constructor(made: Pick<BurstGateway, "models" | "served">, config: ConfigInput, home: string) {
    this.models = made.models;
    this.served = made.served;
    this.#config = config;
    this.#home = home;
  }

  rule(tools: ConfigInput["tools"]): void {
    this.served.gateway.reconfigure(parseConfig({ ...this.#config, tools }));
  }

  async close(): Promise<void> {
    await this.served[Symbol.asyncDispose]();
    for (const model of Object.values(this.models)) await model[Symbol.asyncDispose]();
    await rm(this.#home, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function openBurstGateway(): Promise<BurstGateway> {
  const home = await mkdtemp(join(tmpdir(), "patchbay-codex-home-"));
  let gateway: BurstGateway | undefined;
  const parts = (): readonly Part[] => gateway?.playing ?? [];
  const models = {
    chat: await fakeUpstream((heard) => burstInChat(heard, parts())),
    responses: await fakeUpstream((heard) => burstInResponses(heard, parts())),
    codex: await fakeUpstream((heard) => burstInResponses(heard, parts())),
  };
  const config: ConfigInput = {
    upstreams: {
      chat: { dialect: "chat", base_url: models.chat.url, retries: 0 },
      responses: { dialect: "responses", base_url: models.responses.url, retries: 0 },
      codex: { dialect: "codex", command, home, base_url: models.codex.url, api_key: "sk-behind" },
    },
  };
  const served = await serve(config, { HOME: home });
  return (gateway = new BurstGateway({ models, served }, config, home));
}

type Asking = { readonly door: DoorName; readonly stream: boolean; readonly output: string };
const askings = doors.flatMap((door) =>
  [true, false].flatMap((stream) =>
    ["openai-json", "obsidian-xml"].map((output): Asking => ({ door, stream, output })),
  ),
);

const functions = Object.entries(parameters).map(([name, schema]) => ({
  name,
  parameters: schema,
}));
const tools = {
  chat: functions.map((one) => ({ type: "function", function: one })),
  responses: functions.map(({ name, parameters: schema }) => ({
    type: "function",
    name,
    parameters: schema,
  })),
};

function askFor(
  gateway: BurstGateway,
  back: Back,
  { door, stream, output }: Asking,
): Promise<Response> {
  const more = { model: `${back}/fake-1`, stream, tools: tools[door] };
  return askWithin(gateway.served, door, more, { headers: { "x-proxy-output-mode": output } });
}

/** Without ids, moments and counts of tokens, which are each upstream's own. */
const alike = (text: string): string =>
  text
    .replaceAll(/"(?:chatcmpl-|resp_|msg_|fc_)[\w-]+"/g, '"(id)"')
    .replaceAll(/"(created|created_at|completed_at)":\d+/g, '"$1":"(moment)"')
    .replaceAll(/"usage":\{(?:[^{}]|\{[^{}]*\})*\}/g, '"usage":"(counts)"');

const HEADERS = [
  "content-type",
  "x-patchbay-plan",
  "x-codex-stop-after-tools-mode",
  "x-codex-tool-call-count",
  "x-codex-tool-call-truncated",
];

/** All that a client can tell: the bytes, what they say to a strict reader, and the head. */
async function answerOf(gateway: BurstGateway, back: Back, asking: Asking): Promise<Answered> {
  const response = await askFor(gateway, back, asking);
  const text = await response.text();
  const { door, stream } = asking;
  const { status, headers } = response;
  const turn = gateway.served
    .turns()
    .find(({ requestId }) => requestId === headers.get("x-request-id"));
  return {
    told: {
      status,
      headers: Object.fromEntries(HEADERS.map((name) => [name, headers.get(name)])),
      said: stream ? readStream(door, text) : readBody(door, JSON.parse(text) as Body),
    },
    bytes: alike(text),
    straight: turn?.straight ?? false,
  };
}

type Answered = { readonly told: unknown; readonly bytes: string; readonly straight: boolean };

/** Frames and bodies that are forwarded are the upstream's own. */
const isOwn = (asking: Asking, row: Row, back: Back, answer: Answered | undefined): boolean =>
  answer?.straight === true || (back === "chat" && isUnordered(asking, row));

/** A whole chat body has its text in one place, wherever it was said; a response has it where it was said. */
const isUnordered = ({ door, stream, output }: Asking, { stop, suppressTail }: Row): boolean =>
  door === "responses" && !stream && output !== "obsidian-xml" && stop === "off" && !suppressTail;

describe.skipIf(missing)("the same burst from codex, from chat and from responses", () => {
  let gateway: BurstGateway;
  beforeAll(async () => void (gateway = await openBurstGateway()));
  afterAll(() => gateway.close());

  it.each(rows)(
    "is the same to a client: $burst max=$max stop=$stop dedup=$dedup tail=$suppressTail",
    async (row) => {
      gateway.rule(rulesOf(row));
      gateway.playing = playedIn(row);
      // Codex takes 30 ms of CPU for a turn: each row asks it in two ways, four rows in all eight.
      const askingCodex = askings.filter((_, at) => at % 4 === rows.indexOf(row) % 4);
      const before = backs.map((back) => gateway.models[back].requests.length);
      const answers = await Promise.all(
        askings.map(async (asking) => ({
          asking,
          codex: askingCodex.includes(asking)
            ? await answerOf(gateway, "codex", asking)
            : undefined,
          others: await Promise.all(
            upstreamDialects.map(async (back) => ({
              back,
              answer: await answerOf(gateway, back, asking),
            })),
          ),
        })),
      );
      for (const { asking, codex, others } of answers) {
        const [first] = others;
        const same = codex ?? first?.answer;
        const isFree = codex === undefined && isOwn(asking, row, "chat", first?.answer);
        for (const { back, answer } of others) {
          const bytes = isFree || isOwn(asking, row, back, answer) ? same?.bytes : answer.bytes;
          expect({ back, asking, told: answer.told, bytes }).toEqual({
            back,
            asking,
            told: same?.told,
            bytes: same?.bytes,
          });
        }
      }
      for (const [nth, back] of backs.entries()) {
        const heard = gateway.models[back].requests
          .slice(before[nth])
          .filter(({ method }) => method === "POST");
        await Promise.all(heard.map((one) => one.closed));
        expect(heard.map((one) => one.abandoned())).toEqual(
          (back === "codex" ? askingCodex : askings).map(() => row.stop !== "off"),
        );
      }
    },
  );
});
