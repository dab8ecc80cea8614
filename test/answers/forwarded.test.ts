import { describe, expect, it } from "vitest";
import { askWithin, type DoorName, doors } from "../support/client.ts";
import { done, json, sse, type Answer, type Body } from "../support/fake-upstream.ts";
import * as chat from "../support/ordinary-chat.ts";
import * as responses from "../support/ordinary-responses.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

let answer: Answer;
const here = sharedGateway(
  () => answer,
  (url) => {
    const to = { base_url: url, retries: 0 };
    return {
      upstreams: {
        chat: { dialect: "chat", profile: "openai", ...to },
        responses: { dialect: "responses", profile: "openai-responses", ...to },
      },
    };
  },
);

/** JSON as nobody here would write it, so that it shows when it was written anew. */
const spaced = (value: unknown): string =>
  JSON.stringify(value, undefined, 1).replaceAll(/\n\s*/g, " ");

const framed = (event: Body): string =>
  `${"type" in event ? `event: ${event["type"]}\n` : ""}data: ${spaced(event)}\n\n`;

async function heard(door: DoorName, asked: Body | undefined, stream: boolean): Promise<string> {
  const counting = stream && door === "chat" ? { stream_options: { include_usage: true } } : {};
  const response = await askWithin(here.served, door, {
    model: `${door}/m`,
    stream,
    ...counting,
    ...asked,
  });
  expect(response.status).toBe(200);
  return response.text();
}

/** The frames of a stream, without the comments that may stand between. */
const framesIn = (text: string): string[] =>
  text.split(/(?<=\n\n)/).filter((one) => !one.startsWith(":"));

/** An answer that is kept has an id of ours, and nothing else of it differs. */
const withUpstreamId = (text: string): string =>
  text.replaceAll(/"id": "resp_[a-z2-7]{24}"/g, '"id": "resp_1"');

const tables = { chat, responses };

describe.each(doors)("an ordinary %s answer is forwarded", (door) => {
  const { bodies, streams } = tables[door];

  it.each(Object.entries(bodies))("as it came: %s", async (_, { asked, answer: body }) => {
    answer = json(spaced(body));
    expect(withUpstreamId(await heard(door, asked, false))).toBe(spaced(body));
    expect(await heard(door, { ...asked, store: false }, false)).toBe(spaced(body));
  });

  it.each(Object.entries(streams))(
    "as it came in pieces: %s",
    async (_, { asked, answer: events }) => {
      const frames = events.map(framed);
      // OpenAI ends its chat streams so, and any stream is ended so here.
      answer = sse(...frames, ...(door === "chat" ? [done] : []));
      const kept = withUpstreamId(await heard(door, asked, true));
      expect(framesIn(kept)).toEqual([...frames, done]);
      const unkept = await heard(door, { ...asked, store: false }, true);
      expect(framesIn(unkept)).toEqual([...frames, done]);
    },
  );
});

it("leaves out of Azure's answers only the frame that is no part of them", async () => {
  const filters = { id: "", object: "", created: 0, model: "", choices: [] };
  const frames = (chat.streams["what Azure adds"]?.answer ?? []).map(framed);
  answer = sse(framed({ ...filters, prompt_filter_results: [] }), ...frames, done);
  expect(framesIn(await heard("chat", undefined, true))).toEqual([...frames, done]);
});
