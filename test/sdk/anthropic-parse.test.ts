import Anthropic from "@anthropic-ai/sdk";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { answerInMessages } from "../support/fake-messages.ts";
import { answerInChat, answerInResponses, type FakeAnswer } from "../support/fake-model.ts";
import { fakeUpstream, type Answer, type Body } from "../support/fake-upstream.ts";
import { onto, serve } from "../support/serve.ts";

const answers: Readonly<
  Record<"chat" | "responses" | "messages", (asked: Body, say: FakeAnswer) => Answer>
> = { chat: answerInChat, responses: answerInResponses, messages: answerInMessages };

const Weather = z.object({ city: z.string(), degrees: z.number() });

describe.each(["chat", "responses", "messages"] as const)(
  "the Anthropic SDK's parse on a %s upstream",
  (dialect) => {
    it("reads an object of the asked-for schema", async () => {
      const text = '{"city":"Paris","degrees":21}';
      await using upstream = await fakeUpstream(({ body }) => answers[dialect](body, { text }));
      await using served = await serve(onto(dialect, upstream.url));
      const client = new Anthropic({ baseURL: served.url, apiKey: "unused", maxRetries: 0 });
      const message = await client.messages.parse({
        model: "m",
        max_tokens: 100,
        messages: [{ role: "user", content: "The weather in Paris?" }],
        output_config: { format: zodOutputFormat(Weather) },
      });
      expect(message.parsed_output).toEqual({ city: "Paris", degrees: 21 });
      // The upstream was held to the schema by its own means.
      expect(upstream.requests[0]?.text).toContain('"degrees"');
    });
  },
);
