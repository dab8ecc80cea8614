import { describe, expect, it } from "vitest";
import {
  call,
  callEnd,
  context,
  end,
  input,
  plain,
  responseOf,
  start,
  text,
  write,
  type Event,
} from "../../../test/support/responses-writing.ts";
import { StreamNormalizer } from "../../stream/normalize.ts";
import { fold } from "../../stream/fold.ts";
import { runStage } from "../../stream/stage.ts";
import type { ClientName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import { readRequest } from "./read-request.ts";
import { writeAnswer } from "./resource.ts";

describe("the response object", () => {
  const responseTo = (body: Fields, first: Event = start): Fields =>
    responseOf(write([first, text("a"), end], { ...plain, ...body }));

  it("repeats the request, with the API's defaults for what was left out", () => {
    expect(responseTo({})).toMatchObject({
      tools: [],
      tool_choice: "auto",
      temperature: 1,
      top_p: 1,
      presence_penalty: 0,
      truncation: "disabled",
      parallel_tool_calls: true,
      text: { format: { type: "text" } },
      instructions: null,
      service_tier: "default",
    });
    expect(
      responseTo({
        instructions: "Be brief.",
        temperature: 0.2,
        reasoning: { effort: "low" },
        metadata: { a: "b" },
        parallel_tool_calls: false,
        max_output_tokens: 50,
        tool_choice: { type: "function", name: "look" },
        text: { verbosity: "low", format: { type: "json_object" } },
        tools: [
          { type: "function", name: "look", parameters: { type: "object" } },
          { type: "mcp", server_label: "s", authorization: "secret", headers: { a: "secret" } },
        ],
      }),
    ).toMatchObject({
      instructions: "Be brief.",
      temperature: 0.2,
      reasoning: { effort: "low", summary: null },
      metadata: { a: "b" },
      parallel_tool_calls: false,
      max_output_tokens: 50,
      tool_choice: { type: "function", name: "look" },
      text: { verbosity: "low", format: { type: "json_object" } },
      tools: [
        {
          type: "function",
          name: "look",
          description: null,
          parameters: { type: "object" },
          strict: true,
        },
        { type: "mcp", server_label: "s" },
      ],
    });
  });

  it("keeps the keys to other servers to itself", () => {
    const mcp = {
      type: "mcp",
      server_label: "s",
      authorization: "secret",
      headers: { a: "secret" },
    };
    expect(JSON.stringify(responseTo({ tools: [mcp] }))).not.toContain("secret");
  });

  it("says what an upstream of the same dialect really did, but not in its names", () => {
    const said = responseTo(
      { metadata: { mine: "1" } },
      {
        type: "turn-start",
        dialect: "responses",
        extra: { temperature: 0.7, top_p: null, service_tier: "flex", metadata: {}, billing: 1 },
      },
    );
    expect(said).toMatchObject({
      temperature: 0.7,
      top_p: 1,
      service_tier: "flex",
      metadata: { mine: "1" },
      billing: 1,
    });
  });

  it("is the same for a whole answer as at the end of a stream", () => {
    const events = [start, text("a"), call(), input("{}"), callEnd(), end];
    const answer = fold(runStage(new StreamNormalizer<ClientName>(), events));
    const whole: unknown = JSON.parse(writeAnswer(answer, readRequest(plain), context()));
    expect(whole).toEqual(responseOf(write(events)));
  });
});
