import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { parseConfig } from "../../src/gateway/config.ts";
import { openGateway } from "../../src/gateway/gateway.ts";
import { nodePlatform } from "../../src/host/platform/node.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const MEGABYTE = 1_048_576;

/** Each is another text: what is remembered by its text or its object is remembered anew. */
const heavy = (at: number): string => `${at}-${"x".repeat(MEGABYTE)}`;

const tool = (more: object, parameters: object = {}): object => ({
  type: "function",
  function: { name: "f", description: "F", parameters: { type: "object", ...parameters }, ...more },
});

/** What a request may be heavy with, where something of it is remembered. */
const shapes: Readonly<Record<string, (at: number) => object>> = {
  "a tool's description": (at) => ({ tools: [tool({ description: heavy(at) })] }),
  "a schema": (at) => ({ tools: [tool({}, { properties: { a: { const: heavy(at) } } })] }),
  "a tool of another type": (at) => ({ tools: [{ type: heavy(at) }] }),
  "the choice of tools": (at) => ({
    tools: [tool({})],
    tool_choice: {
      type: "allowed_tools",
      allowed_tools: {
        mode: "auto",
        tools: [{ type: "function", function: { name: "f" }, x: heavy(at) }],
      },
    },
  }),
  metadata: (at) => ({ tools: [tool({})], metadata: { x: heavy(at) } }),
  "what is said": (at) => ({ messages: [{ role: "user", content: heavy(at) }], store: true }),
};

it.each(Object.entries(shapes))(
  "memories are bounded in bytes, whatever requests are heavy with: %s",
  async (_, shape) => {
    const gateway = openGateway(
      parseConfig({
        store: { kind: "memory", max_bytes: 8 * MEGABYTE },
        upstreams: { demo: { dialect: "scripted" } },
      }),
      nodePlatform(),
    );
    const send = async (at: number): Promise<void> => {
      const body = {
        model: "demo/demo",
        messages: [{ role: "user", content: "Hi" }],
        ...shape(at),
      };
      const response = await gateway.fetch(
        new Request("http://here/v1/chat/completions", {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(body),
        }),
      );
      await response.text();
      expect(response.status).toBeLessThan(500);
    };
    const held = async (from: number, to: number): Promise<number> => {
      for (let at = from; at < to; at++) await send(at);
      collect();
      return process.memoryUsage().heapUsed / MEGABYTE;
    };
    const [some, more] = [await held(0, 24), await held(24, 44)];
    // All caches are full by then: 20 requests more, of a megabyte each, change nothing.
    expect(more - some).toBeLessThan(10);
    await gateway.close(0);
  },
  60_000,
);
