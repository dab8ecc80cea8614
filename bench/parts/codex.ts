import { existsSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { ownCpuSeconds } from "../cpu.ts";
import { median, quantile } from "../figures.ts";
import type { Check, Part, Section } from "../part.ts";
import { freePort, startServer, temporaryFolder } from "../processes.ts";
import { verdict } from "../report.ts";

const root = join(import.meta.dirname, "../..");
const binary = join(root, "node_modules/.bin/codex");
const mostCpu = 1;
const WARM = 480;
const PAIRS = 120;
/** So many conversations at once, for CPU under load: a gateway seldom has only one. */
const AT_ONCE = 8;
/** How often the two kinds of load take turns. */
const ROUNDS = 3;

/** How long a thread may wait for the results of its calls. */
const kinds = [
  ["parked", 600_000],
  ["replay", 0],
] as const;

type Row = {
  readonly name: string;
  /** Milliseconds of each request. */
  readonly first: readonly number[];
  readonly second: readonly number[];
  /** Milliseconds of Patchbay's own CPU per request: one conversation after the other, and several at once. */
  readonly alone: Cost;
  readonly together: Cost;
};

/** A request through Codex, and one that the demo upstream answered meanwhile: what any turn costs here. */
type Cost = { readonly codex: number; readonly demo: number };

/**
 * What a round with one call takes through Codex: a request that is answered
 * with a call, and one that brings its result. The model behind Codex answers
 * at once, so all of it is added, and nearly all of that by Codex.
 */
export const codex: Part = {
  name: "codex",
  when: "always",
  async measure({ say }) {
    if (!existsSync(binary)) return sectionOf([]);
    const model = await openModel();
    const { port } = model.address() as AddressInfo;
    const rows: Row[] = [];
    try {
      for (const [name, parkMs] of kinds) {
        say(`codex: ${name}`);
        rows.push(await measureRow(name, parkMs, port));
      }
    } finally {
      model.closeAllConnections();
      model.close();
    }
    return sectionOf(rows);
  },
};

const show = (values: readonly number[]): string =>
  `${median(values).toFixed(0)} / ${quantile(values, 0.95).toFixed(0)}`;

const sectionOf = (rows: readonly Row[]): Section => ({
  title: "Through the Codex app-server, in milliseconds (median / 95th of 120 rounds)",
  table: {
    head: [
      "",
      "first request",
      "with results",
      "CPU, one by one",
      "of any turn",
      `CPU, ${AT_ONCE} at once`,
      "of any turn",
    ],
    rows: rows.map(({ name, first, second, alone, together }) => [
      name,
      show(first),
      show(second),
      ...[alone, together].flatMap(({ codex, demo }) => [codex.toFixed(2), demo.toFixed(2)]),
    ]),
  },
  figures: rows,
  checks: kinds.map(([name]): Check => {
    const cpu = rows.find((row) => row.name === name)?.together.codex ?? NaN;
    return {
      what: `CPU of Patchbay for a request through Codex, ${name}, ${AT_ONCE} at once`,
      target: `<= ${mostCpu} ms`,
      measured: Number.isFinite(cpu) ? `${cpu.toFixed(2)} ms` : "-",
      verdict: verdict(cpu, cpu <= mostCpu),
    };
  }),
});

/** A gateway onto Codex, and one onto the demo upstream. */
type Gateways = { readonly codex: Gateway; readonly demo: Gateway };
type Gateway = { readonly port: number; readonly pid: number };

async function measureRow(name: string, parkMs: number, model: number): Promise<Row> {
  const home = join(temporaryFolder(), "home");
  const base_url = `http://127.0.0.1:${model}/v1`;
  const codex = { dialect: "codex", command: binary, home, base_url, api_key: "x" };
  const gateways: Gateways = {
    codex: await openGateway({ ...codex, park_ms: parkMs }),
    demo: await openGateway({ dialect: "scripted" }),
  };
  await atOnce(gateways, WARM);
  const rounds: Round[] = [];
  const [alone, together]: [Cost[], Cost[]] = [[], []];
  for (let at = 0; at < ROUNDS; at++) {
    alone.push(
      await costOf(
        gateways,
        async () => void rounds.push(...(await inTurn(gateways, PAIRS / ROUNDS))),
      ),
    );
    together.push(await costOf(gateways, () => atOnce(gateways, PAIRS / ROUNDS)));
  }
  for (const { pid } of Object.values(gateways)) process.kill(pid, "SIGTERM");
  const [first, second] = [rounds.map((one) => one.first), rounds.map((one) => one.second)];
  return { name, first, second, alone: middle(alone), together: middle(together) };
}

const middle = (costs: readonly Cost[]): Cost => ({
  codex: median(costs.map(({ codex }) => codex)),
  demo: median(costs.map(({ demo }) => demo)),
});

async function openGateway(upstream: object): Promise<Gateway> {
  const port = await freePort();
  const folder = temporaryFolder();
  const config = join(folder, "patchbay.yaml");
  writeFileSync(config, JSON.stringify({ upstreams: { one: upstream }, models: { "*": "one/*" } }));
  const cli = join(root, "cli/cli.ts");
  const args = ["--max-semi-space-size=8", cli, "serve", "--config", config, "--port", `${port}`];
  return { port, pid: await startServer({ command: process.execPath, args, folder, port }) };
}

/** Milliseconds of CPU for each request of so many rounds. */
async function costOf({ codex, demo }: Gateways, load: () => Promise<void>): Promise<Cost> {
  const spent = (): readonly [number, number] => [
    ownCpuSeconds(codex.pid),
    ownCpuSeconds(demo.pid),
  ];
  const before = spent();
  await load();
  const after = spent();
  const requests = (PAIRS / ROUNDS) * 2;
  return {
    codex: ((after[0] - before[0]) * 1000) / requests,
    demo: ((after[1] - before[1]) * 1000) / requests,
  };
}

async function inTurn(gateways: Gateways, count: number): Promise<Round[]> {
  const rounds: Round[] = [];
  for (let at = 0; at < count; at++) rounds.push(await round(gateways));
  return rounds;
}

async function atOnce(gateways: Gateways, count: number): Promise<void> {
  const each = Array.from({ length: AT_ONCE }, () => inTurn(gateways, count / AT_ONCE));
  await Promise.all(each);
}

const tools = [
  {
    type: "function",
    name: "look",
    parameters: { type: "object", properties: { at: { type: "string" } }, required: ["at"] },
  },
];
const asked = { type: "message", role: "user", content: "What is there?" };

type Round = { readonly first: number; readonly second: number };

async function round({ codex, demo }: Gateways): Promise<Round> {
  const start = performance.now();
  const { output } = await ask(codex, [asked]);
  const between = performance.now();
  const result = { type: "function_call_output", call_id: "call_1", output: "a tree" };
  const told = [asked, ...output, result];
  const answer = await ask(codex, told);
  const end = performance.now();
  if (output[0]?.type !== "function_call" || answer.output[0]?.type !== "message")
    throw new Error("a round through Codex went wrong");
  for (const input of [[asked], told]) await ask(demo, input);
  return { first: between - start, second: end - between };
}

type Answer = { readonly output: readonly { readonly type: string }[] };

async function ask({ port }: Gateway, input: readonly unknown[]): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/responses`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "m", input, tools }),
  });
  if (!response.ok) throw new Error(`the gateway said ${response.status} ${await response.text()}`);
  return (await response.json()) as Answer;
}

const call = { type: "function_call", call_id: "call_1", name: "look", arguments: '{"at":"x"}' };
const said = {
  type: "message",
  role: "assistant",
  content: [{ type: "output_text", text: "There is a tree." }],
};
const usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 };

/** A model that calls once, and says what there is when it has been told. */
async function openModel(): Promise<Server> {
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const item = body.includes("function_call_output") ? said : call;
      const events = [
        { type: "response.output_item.done", item },
        { type: "response.completed", response: { id: "resp_1", usage } },
      ];
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}
