/** Draws `docs/picture.svg`: one request as a plain proxy and as Patchbay send it, from a real run. */

import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createGateway } from "../src/index.ts";

/** A Responses request with a namespace, a custom tool and a hosted tool. */
const request = {
  model: "any",
  input: "Fix the bug that Ann reported.",
  tools: [
    {
      type: "namespace",
      name: "tickets",
      description: "The issue tracker.",
      tools: [{ type: "function", name: "find", parameters: { type: "object", properties: {} } }],
    },
    { type: "custom", name: "apply_patch", description: "Applies a patch." },
    { type: "web_search" },
  ],
};

const patch = "*** Begin Patch\n*** End Patch";

type Tool = { readonly type: string; readonly function?: { readonly name: string } };
type Call = { readonly type: string; readonly name: string; readonly input?: string };
type Run = {
  readonly sent: readonly string[];
  readonly verdicts: readonly {
    readonly path: string;
    readonly verdict: string;
    readonly reason: string;
  }[];
  readonly calls: readonly Call[];
};

/** Sends the request through a gateway to a chat model on loopback that calls the second tool. */
async function runPatchbay(): Promise<Run> {
  let sent: readonly string[] = [];
  const server = createServer((asked, reply) => {
    let body = "";
    asked.on("data", (piece) => (body += String(piece)));
    asked.on("end", () => {
      const { tools = [] } = JSON.parse(body || "{}") as { tools?: Tool[] };
      sent = tools.map((tool) => tool.function?.name ?? tool.type);
      const call = {
        id: "call_1",
        type: "function",
        function: { name: "apply_patch", arguments: JSON.stringify({ input: patch }) },
      };
      const message = { role: "assistant", content: null, tool_calls: [call] };
      const choices = [{ index: 0, message, finish_reason: "tool_calls" }];
      reply.setHeader("content-type", "application/json");
      reply.end(
        JSON.stringify({ id: "c", object: "chat.completion", created: 1, model: "m", choices }),
      );
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await using gateway = createGateway({
    upstreams: { model: { dialect: "chat", base_url: `http://127.0.0.1:${port}/v1` } },
    models: { "*": "model/m" },
  });
  const post = async (path: string): Promise<Record<string, unknown>> => {
    const init = {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(request),
    };
    const response = await gateway.fetch(new Request(`http://gateway${path}`, init));
    return (await response.json()) as Record<string, unknown>;
  };
  try {
    const answer = await post("/v1/responses");
    const plan = await post("/v1/plan");
    return {
      sent,
      verdicts: plan["tools"] as Run["verdicts"],
      calls: (answer["output"] as Call[]).filter(({ type }) => type.endsWith("_call")),
    };
  } finally {
    server.close();
  }
}

/** A proxy that translates functions and drops every other tool. */
const plainProxy = (): readonly string[] =>
  request.tools.flatMap((tool) => (tool.type === "function" ? [tool.type] : []));

const escape = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const WIDTH = 860;
const LINE = 20;

type Box = {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly title: string;
  readonly lines: readonly string[];
  readonly color: string;
};

function box({ x, y, width, title, lines, color }: Box): string {
  const height = 40 + lines.length * LINE;
  const texts = lines.map(
    (line, at) =>
      `<text x="${x + 14}" y="${y + 48 + at * LINE}" class="mono">${escape(line)}</text>`,
  );
  return [
    `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="8" fill="#fff" stroke="${color}" stroke-width="1.5"/>`,
    `<text x="${x + 14}" y="${y + 24}" class="title" fill="${color}">${escape(title)}</text>`,
    ...texts,
  ].join("\n");
}

export async function picture(): Promise<string> {
  const { sent, verdicts, calls } = await runPatchbay();
  const declared = ["namespace tickets { find }", "custom apply_patch", "web_search"];
  const plain = plainProxy();
  const words = ["tickets.find", "apply_patch", "web_search"];
  const plan = verdicts.map(({ verdict }, at) => `${(words[at] ?? "").padEnd(13)} ${verdict}`);
  const back = calls.map(({ type, name }) => `${type} ${name}`);
  const boxes = [
    box({
      x: 20,
      y: 20,
      width: 250,
      title: "The client declares",
      lines: declared,
      color: "#374151",
    }),
    box({
      x: 305,
      y: 20,
      width: 250,
      title: "A plain proxy sends",
      lines: plain.length === 0 ? ["tools: none", "no report of the loss"] : plain,
      color: "#b91c1c",
    }),
    box({
      x: 590,
      y: 20,
      width: 250,
      title: "Patchbay sends",
      lines: sent.map((name) => `function ${name}`),
      color: "#047857",
    }),
    box({
      x: 305,
      y: 150,
      width: 250,
      title: "and reports its plan",
      lines: plan,
      color: "#047857",
    }),
    box({
      x: 590,
      y: 150,
      width: 250,
      title: "and returns the call as",
      lines: back,
      color: "#047857",
    }),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} 270" width="${WIDTH}" height="270" role="img" aria-label="The tools of one request: a plain proxy drops them, Patchbay sends them and reports what it cannot send">
<style>.title{font:600 15px system-ui,sans-serif}.mono{font:13px ui-monospace,monospace;fill:#111827}</style>
<rect width="${WIDTH}" height="270" fill="#f9fafb"/>
${boxes.join("\n")}
</svg>
`;
}
