import * as fc from "fast-check";
import { builtinDialects } from "../../src/dialects/registry.ts";
import { doorPath } from "../../test/support/door-path.ts";
import { parseConfig } from "../../src/gateway/config.ts";
import { openGateway, type Gateway } from "../../src/gateway/gateway.ts";
import { nodePlatform } from "../../src/host/platform/node.ts";
import { profiles } from "../../src/profiles/profiles.ts";
import type { Campaign, Property } from "../campaign.ts";
import { examples } from "../examples.ts";
import { leastTime } from "../least-time.ts";
import { changes, grown, mutated } from "../mutate.ts";

/** Milliseconds of the event loop that a body of a megabyte may take; in proportion for shorter ones. */
const MOST_MS = 100;
const MEGABYTE = 1_048_576;
/** Shorter times vary with the machine. */
const NOISE_MS = 60;
/** The fault of an answer that does not fit its schema: no answer fits some of the changed schemas. */
const UNMET = "upstream.format";

const planned = [...profiles.values()].filter(({ dialect }) =>
  builtinDialects.upstreams.some(({ name }) => name === dialect),
);

function open(): Gateway {
  const upstreams = Object.fromEntries(
    planned.map(({ name, dialect }) => [
      name,
      { dialect, profile: name, base_url: "http://127.0.0.1:9/v1", models: ["m"] },
    ]),
  );
  return openGateway(
    parseConfig({ upstreams: { ...upstreams, demo: { dialect: "scripted" } } }),
    nodePlatform(),
  );
}

async function post(gateway: Gateway, path: string, body: string): Promise<Response> {
  return gateway.fetch(
    new Request(`http://here${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    }),
  );
}

/** Requests to every door: the demo answers them, and they are planned for every profile. */
export function requests(): Campaign {
  const gateway = open();
  const check = async (path: string, body: string): Promise<void> => {
    const most = 4 * Math.max(NOISE_MS, (MOST_MS * body.length) / MEGABYTE);
    let [status, text] = [0, ""];
    const ms = await leastTime(most, async () => {
      const response = await post(gateway, path, body);
      [status, text] = [response.status, await response.text()];
    });
    if (status >= 500 && !text.includes(UNMET))
      throw new Error(`${path} answered ${status}: ${text}`);
    if (ms > most) throw new Error(`${body.length} bytes took ${ms.toFixed(0)} ms`);
    if (status === 200 && text.trim() === "") throw new Error("an empty answer");
  };
  const properties = builtinDialects.doors.flatMap(({ name, door }): Property[] => {
    const example = examples[name];
    if (example === undefined)
      throw new Error(`add an example of a ${name} request to fuzz/examples.ts`);
    const path = doorPath(door, { model: "demo/demo" });
    const asked = fc.record({
      list: fc.array(changes, { minLength: 1, maxLength: 6 }),
      stream: fc.boolean(),
      profile: fc.constantFrom("demo", ...planned.map((one) => one.name)),
    });
    return [
      {
        name: `${name}: changed requests`,
        property: fc.asyncProperty(asked, async ({ list, stream, profile }) => {
          const body = mutated({ ...example, stream }, list);
          await check(path, JSON.stringify(body) ?? "null");
          const elsewhere = { ...(body as object), model: `${profile}/m` };
          if (typeof body === "object" && body !== null)
            await check("/v1/plan", JSON.stringify(elsewhere));
        }),
      },
      {
        name: `${name}: texts that are no requests`,
        property: fc.asyncProperty(fc.string({ unit: "binary" }), (text) => check(path, text)),
      },
      {
        name: `${name}: work grows with the length`,
        property: fc.asyncProperty(
          fc.nat(50),
          fc.constantFrom("demo", ...planned.map((one) => one.name)),
          async (at, profile) => {
            const work = async (count: number, most: number): Promise<number> => {
              const body = { ...(grown(example, at, count) as object), model: `${profile}/m` };
              return leastTime(most, async () => {
                const text = JSON.stringify({ ...body, metadata: { salt: String(Math.random()) } });
                await (await post(gateway, "/v1/plan", text)).text();
              });
            };
            const once = await work(1000, NOISE_MS);
            const most = 3.5 * once + NOISE_MS;
            const twice = await work(2000, most);
            if (twice > most)
              throw new Error(
                `${once.toFixed(0)} ms became ${twice.toFixed(0)} ms at twice the size`,
              );
          },
        ),
      },
    ];
  });
  return { properties, close: () => gateway.close(0) };
}
