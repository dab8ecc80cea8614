import * as fc from "fast-check";
import { builtinDialects } from "../../src/dialects/registry.ts";
import { doorPath } from "../../test/support/door-path.ts";
import { parseConfig } from "../../src/gateway/config.ts";
import { openGateway } from "../../src/gateway/gateway.ts";
import { nodePlatform } from "../../src/host/platform/node.ts";
import { profiles } from "../../src/profiles/profiles.ts";
import type { Connect } from "../../src/upstreams/http/transport.ts";
import type { Body } from "../../test/support/fake-upstream.ts";
import type { Campaign, Property } from "../campaign.ts";
import { answerIn } from "../examples.ts";
import { changes, mutated } from "../mutate.ts";

const MARK = "patchbay:1:";
/** The number of seals in each request. */
const SEALS = 16;
/** Placeholders in a seal for the upstream that receives it, and for its dialect. */
const FROM = "~from~";
const DIALECT = "~dialect~";
/** The id of an item of another tenant, at every upstream. */
const FOREIGN = "item_of_another_tenant";

const reference = { type: "item_reference", id: FOREIGN };
const extra = { dialect: DIALECT, fields: { vendor: 1 }, hints: { type: "thinking" } };
const hidden = {
  id: "call_hidden",
  of: "read",
  input: '{"key":"files"}',
  text: "# Files",
  opens: ["files"],
  loaded: ["files_read"],
};
/** Seals as a gateway writes them, and the most useful forgeries. */
const written: readonly object[] = [
  { from: FROM, encrypted: "c2VhbA==", content: ["Hm.", ""], details: [{ type: "x" }], extra },
  { from: FROM, isContent: true },
  { from: FROM, calls: { call_0: extra, call_1: extra } },
  { from: FROM, item: { dialect: DIALECT, raw: { type: "server_tool_use", id: "s", input: {} } } },
  { from: "", hidden },
  { from: "", hidden: { ...hidden, of: { tool: "files_read" } } },
  { from: FROM, item: { dialect: DIALECT, raw: reference } },
  { from: FROM, item: { dialect: DIALECT, raw: { id: FOREIGN } } },
  { from: FROM, calls: { call_0: { dialect: DIALECT, fields: reference } } },
  { from: FROM, content: ["x"], extra: { dialect: DIALECT, fields: reference } },
  { from: FROM, extra: { dialect: DIALECT, fields: { id: FOREIGN, content: [] } } },
];

const textOf = (value: unknown): string => MARK + (JSON.stringify(value) ?? "");
const forged = fc
  .tuple(fc.constantFrom(...written), fc.array(changes, { maxLength: 3 }))
  .map(([value, list]) => textOf(mutated(value, list)));
const truncated = fc.tuple(forged, fc.nat(400)).map(([text, at]) => text.slice(0, at));
const changed = fc
  .tuple(forged, fc.nat(400), fc.string({ unit: "binary", maxLength: 3 }))
  .map(([text, at, piece]) => text.slice(0, at) + piece + text.slice(at + 1));
const nested = fc
  .tuple(forged, fc.constantFrom("encrypted", "from", "content"), fc.integer({ min: 1, max: 6 }))
  .map(([text, key, times]) => {
    let inner = text;
    for (let at = 0; at < times; at++)
      inner = textOf({ from: FROM, [key]: key === "content" ? [inner] : inner });
    return inner;
  });
const deep = fc
  .tuple(fc.constantFrom("[]", '{"a":}'), fc.constantFrom(10, 1000, 20_000))
  .map(([pair, levels]) => {
    const [open, close] = [pair.slice(0, -1), pair.slice(-1)];
    const inner = open.repeat(levels) + (pair === "[]" ? "" : "1") + close.repeat(levels);
    return `${MARK}{"from":"${FROM}","details":[${inner}],"item":{"dialect":"${DIALECT}","raw":{"type":"x","in":${inner}}}}`;
  });
const strange = fc
  .tuple(
    fc.constantFrom(MARK, "patchbay:1", "patchbay:2:", "pbs1.", ""),
    fc.string({ unit: "binary" }),
  )
  .map(([mark, text]) => mark + text);
const seal = fc.oneof(
  { arbitrary: forged, weight: 10 },
  { arbitrary: truncated, weight: 3 },
  { arbitrary: changed, weight: 3 },
  { arbitrary: nested, weight: 2 },
  { arbitrary: strange, weight: 1 },
  { arbitrary: deep, weight: 1 },
);

/** A call for every fourth seal. */
const callsBeside = (seals: readonly string[]): readonly string[] =>
  seals.flatMap((_, at) => (at % 4 === 0 ? [`call_${at / 4}`] : []));
const schema = { type: "object", properties: { path: { type: "string" } } };
const names = ["files_read", "files_write", "web_get", "web_post"];

/** The bytes of a text in UTF-8, each as a character. */
const toBytes = (text: string): string =>
  Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("");

/** A request of each dialect, with seals wherever its clients may send one. */
const requests: Readonly<Record<string, (seals: readonly string[]) => Body>> = {
  responses: (seals) => ({
    input: [
      { role: "user", content: "Go" },
      ...seals.map((encrypted_content, at) => ({
        type: "reasoning",
        summary: at % 2 === 0 ? [] : [{ type: "summary_text", text: "Hm." }],
        ...(at % 3 === 0 && { content: [{ type: "reasoning_text", text: "Hm." }] }),
        encrypted_content,
      })),
      ...callsBeside(seals).flatMap((call_id) => [
        { type: "function_call", call_id, name: "files_read", arguments: "{}" },
        { type: "function_call_output", call_id, output: "ok" },
      ]),
    ],
    tools: names.map((name) => ({ type: "function", name, parameters: schema })),
    max_output_tokens: 50,
  }),
  messages: (seals) => ({
    messages: [
      { role: "user", content: "Go" },
      {
        role: "assistant",
        content: [
          ...seals.map((text, at) =>
            at % 2 === 0
              ? { type: "thinking", thinking: at % 4 === 0 ? "Hm." : "", signature: text }
              : { type: "redacted_thinking", data: text },
          ),
          ...callsBeside(seals).map((id) => ({
            type: "tool_use",
            id,
            name: "files_read",
            input: {},
          })),
        ],
      },
      {
        role: "user",
        content: callsBeside(seals).map((id) => ({
          type: "tool_result",
          tool_use_id: id,
          content: "ok",
        })),
      },
    ],
    tools: names.map((name) => ({ name, input_schema: schema })),
    max_tokens: 50,
  }),
  gemini: (seals) => ({
    contents: [
      { parts: [{ text: "Go" }] },
      {
        role: "model",
        parts: [
          ...seals.map((text, at) => ({
            text: at % 2 === 0 ? "" : "Hm.",
            ...(at % 3 === 0 && { thought: true }),
            thoughtSignature: btoa(`${["", "+", "="][at % 3]}${toBytes(text)}`),
          })),
          ...callsBeside(seals).map((id, at) => ({
            functionCall: { id, name: "files_read", args: {} },
            thoughtSignature: btoa(toBytes(seals[at] ?? "")),
          })),
        ],
      },
      {
        parts: callsBeside(seals).map((id) => ({
          functionResponse: { id, name: "files_read", response: { output: "ok" } },
        })),
      },
    ],
    tools: [
      { functionDeclarations: names.map((name) => ({ name, parametersJsonSchema: schema })) },
    ],
    generationConfig: { maxOutputTokens: 50 },
  }),
  chat: (seals) => ({
    messages: [
      { role: "user", content: "Go" },
      {
        role: "assistant",
        content: "So.",
        reasoning_details: seals.map((text, at) => ({
          ...(at % 2 === 0
            ? { type: "reasoning.text", text: "Hm.", signature: text }
            : { type: "reasoning.encrypted", data: text }),
          index: at % 5,
        })),
        tool_calls: callsBeside(seals).map((id) => ({
          id,
          type: "function",
          function: { name: "files_read", arguments: "{}" },
        })),
      },
      ...callsBeside(seals).map((id) => ({ role: "tool", tool_call_id: id, content: "ok" })),
    ],
    tools: names.map((name) => ({ type: "function", function: { name, parameters: schema } })),
    max_tokens: 50,
  }),
};

const answers = new Map<string, Uint8Array>(
  builtinDialects.upstreams.map(({ name }) => [
    name,
    new TextEncoder().encode(answerIn(name, { text: "Hello." }).join("")),
  ]),
);

const planned = [...profiles.values()].filter(({ dialect }) => answers.has(dialect));
const dialectOf = new Map(planned.map(({ name, dialect }) => [name, dialect]));

/** Upstreams without sockets, and the last request that one of them received. */
function upstreams(): { readonly connect: Connect; take(): string | undefined } {
  let last: Uint8Array | undefined;
  const controller = { pause() {}, resume() {}, abort() {} };
  const connect: Connect = () => ({
    send({ path, body }, handler) {
      last = body;
      const [, name = ""] = path.split("/");
      queueMicrotask(() => {
        handler.onRequestStart(controller);
        handler.onResponseStart(controller, 200, { "content-type": "application/json" });
        handler.onResponseData(
          controller,
          answers.get(dialectOf.get(name) ?? "") ?? new Uint8Array(),
        );
        handler.onResponseEnd();
      });
    },
    encode: (text) => new TextEncoder().encode(text),
    newDecoder: () => ({ write: (chunk) => new TextDecoder().decode(chunk), end: () => "" }),
    close: () => Promise.resolve(),
  });
  return {
    connect,
    take() {
      const text = last === undefined ? undefined : new TextDecoder().decode(last);
      last = undefined;
      return text;
    },
  };
}

/** True if a request to an upstream that keeps items names an item of another tenant. */
const refers = (text: string): boolean =>
  ((JSON.parse(text) as Body)["input"] as Body[] | undefined)?.some(
    ({ id, type }) => id === FOREIGN || type === "item_reference",
  ) === true;

const modes = ["", "wrap", "append", "native"];

/** Forged seals, wherever a client may send one: they have no effect, and never cause a 500. */
export function seals(): Campaign {
  const sent = upstreams();
  const platform = nodePlatform();
  const to = planned.map(({ name, dialect }) => [
    name,
    { dialect, profile: name, base_url: `http://127.0.0.1:9/${name}/v1`, api_key: "k", retries: 0 },
  ]);
  const config = parseConfig({
    upstreams: Object.fromEntries(to),
    server: { keys: ["one", "other"] },
    store: { kind: "memory" },
  });
  const gateway = openGateway(config, {
    ...platform,
    runtime: { ...platform.runtime, connect: sent.connect },
  });
  const check = async (path: string, body: Body, mode: string): Promise<void> => {
    sent.take();
    const response = await gateway.fetch(
      new Request(`http://here${path}`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "x-api-key": "one",
          ...(mode !== "" && { "x-patchbay-disclosure": mode }),
        },
        body: JSON.stringify(body),
      }),
    );
    const text = await response.text();
    if (response.status >= 500) throw new Error(`${path} answered ${response.status}: ${text}`);
    const request = sent.take();
    if (request !== undefined && refers(request))
      throw new Error(`the upstream was sent a reference: ${request}`);
  };
  const properties = builtinDialects.doors.flatMap(({ name, door }): Property[] => {
    const request = requests[name];
    if (request === undefined) throw new Error(`add a ${name} request to fuzz/campaigns/seals.ts`);
    const { history, tokenCount } = door;
    const compaction = history?.type === "answers" ? history.compaction.route : undefined;
    const counting = tokenCount?.routes[0];
    const others = ["/v1/plan", counting, compaction].filter((path) => path !== undefined);
    const paths = [doorPath(door, { model: "{model}" }), ...others];
    const asked = fc.record({
      texts: fc.array(seal, { minLength: SEALS, maxLength: SEALS }),
      profile: fc.constantFrom(...planned.map((one) => one.name)),
      path: fc.oneof(
        { arbitrary: fc.constant(paths[0] ?? ""), weight: 3 },
        { arbitrary: fc.constantFrom(...paths), weight: 1 },
      ),
      mode: fc.constantFrom(...modes),
    });
    return [
      {
        name: `${name}: ${SEALS} seals in a request`,
        property: fc.asyncProperty(asked, async ({ texts, profile, path, mode }) => {
          const model = `${profile}/m`;
          const own = texts.map((text) =>
            text.replaceAll(FROM, model).replaceAll(DIALECT, dialectOf.get(profile) ?? ""),
          );
          await check(path.replace("{model}", model), { model, ...request(own) }, mode);
        }),
      },
    ];
  });
  return { properties, close: () => gateway.close(0) };
}
