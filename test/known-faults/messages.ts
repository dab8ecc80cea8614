import { json, type Body, type Model } from "../support/fake-upstream.ts";
import { onto, serve } from "../support/serve.ts";
import { fakeUpstream } from "../support/fake-upstream.ts";

type Dialect = "chat" | "responses" | "messages";

/** What came of a Messages request: the answer, its frames if it was a stream, and what was sent on. */
export type Asked = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The whole answer; of a stream, what its events come to. */
  readonly answer: Body;
  readonly events: readonly Body[];
  /** What the upstream was asked. */
  readonly sent: Body;
};

export type Asking = {
  readonly to?: Dialect;
  readonly profile?: string;
  /** What the upstream says. */
  readonly says?: Model;
  readonly stream?: boolean;
  readonly path?: string;
};

export const look = {
  name: "look",
  description: "Looks at something.",
  input_schema: { type: "object", properties: { at: { type: "string" } } },
};

const nothing: Model = () => json({ error: { message: "nothing to say" } }, 418);

/** Asks the Messages door for one answer, with one upstream behind it. */
export async function askMessages(
  body: Body,
  { to = "chat", profile, says = nothing, stream = false, path = "/v1/messages" }: Asking = {},
): Promise<Asked> {
  await using upstream = await fakeUpstream(says);
  await using served = await serve(
    onto(to, upstream.url, profile === undefined ? {} : { profile }),
  );
  const response = await served.fetch(served.url + path, {
    method: "POST",
    headers: { "content-type": "application/json", "anthropic-version": "2023-06-01" },
    body: JSON.stringify({
      model: "m",
      max_tokens: 100,
      messages: [{ role: "user", content: "Hi" }],
      ...(stream && { stream }),
      ...body,
    }),
  });
  const text = await response.text();
  const events = eventsIn(text);
  return {
    status: response.status,
    headers: response.headers,
    text,
    answer: text.startsWith("{") ? (JSON.parse(text) as Body) : folded(events),
    events,
    sent: upstream.requests.at(-1)?.body ?? {},
  };
}

/** Every frame of a stream has its type in a line of its own. */
function eventsIn(text: string): Body[] {
  return [...text.matchAll(/^event: (.+)\ndata: (.+)$/gm)].map(([, type, data = "{}"]) => {
    const event = JSON.parse(data) as Body;
    if (event["type"] !== type) throw new Error(`a frame of ${type} says ${event["type"]}`);
    return event;
  });
}

/** As a client that goes by the index of each block puts a message together. */
function folded(events: readonly Body[]): Body {
  const content: Body[] = [];
  const ended = new Set<number>();
  let message: Body = {};
  for (const event of events) {
    const { type, index, delta = {} } = event as { type: string; index: number; delta?: Body };
    if (type === "message_start") message = { ...(event["message"] as Body) };
    if (type === "content_block_start") {
      if (index !== content.length)
        throw new Error(`block ${index} begins as number ${content.length}`);
      content.push({ ...(event["content_block"] as Body), json: "" });
    }
    const block = content[index];
    if (type === "content_block_delta" && block === undefined) throw new Error("no such block");
    if (block !== undefined)
      for (const [key, of] of [
        ["text", "text"],
        ["thinking", "thinking"],
        ["partial_json", "json"],
        ["signature", "signature"],
      ] as const)
        if (delta[key] !== undefined) block[of] = `${block[of] ?? ""}${delta[key] as string}`;
    if (type === "content_block_stop") ended.add(index);
    if (type === "message_delta")
      message = { ...message, ...delta, usage: { ...message["usage"], ...event["usage"] } };
  }
  // A block that was left open is thrown away.
  const closed = content.filter((_, index) => ended.has(index)).map(blockOf);
  return { ...message, content: closed };
}

function blockOf({ json: input, ...block }: Body): Body {
  if (block["type"] === "tool_use") block["input"] = JSON.parse((input as string) || "{}") as Body;
  return block;
}
