import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask, doors, readAnswer, type DoorName } from "../support/client.ts";
import { serve, type Served } from "../support/serve.ts";

let served: Served;
beforeAll(async () => {
  served = await serve({
    upstreams: {
      actor: {
        dialect: "scripted",
        script: {
          sequence: "requests",
          turns: Array.from({ length: 8 }, () => ["So far", { stop: "pause" }]),
        },
      },
    },
    models: { "*": "actor/m" },
  });
});
afterAll(() => served[Symbol.asyncDispose]());

const stops: Readonly<Record<DoorName, string>> = {
  chat: "length",
  responses: "max_output_tokens",
};

describe.each(doors)("an answer that its provider has only paused, at the %s door", (door) => {
  it.each([true, false])("ends as one of which there is more, streamed %s", async (stream) => {
    const response = await ask(served, door, { stream });
    const text = await response.clone().text();
    expect(await readAnswer(door, response)).toMatchObject({ status: 200, text: "So far" });
    expect(text).toContain(`"${stops[door]}"`);
    const id = /"id":"((?:chatcmpl-|resp_)[^"]+)"/.exec(text)?.[1] ?? "";
    const plan = await fetch(`${served.url}/v1/plans/${id}`);
    expect(await plan.json()).toMatchObject({
      decisions: [
        {
          action: "dropped",
          reason: `a ${door} answer has no form for a pause; the answer ends as if it reached its length limit`,
        },
      ],
    });
  });
});
