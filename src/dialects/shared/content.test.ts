import { describe, expect, it } from "vitest";
import { ask } from "../../../test/support/turns.ts";
import { codexProfile } from "../../profiles/codex.ts";
import { genericChat } from "../../profiles/generic.ts";
import { genericResponses } from "../../profiles/generic.ts";
import { clientName, type UpstreamName } from "../../turn/names.ts";
import type { Fields, Part, Result, Turn } from "../../turn/turn.ts";
import { writeCodexRequest } from "../../upstreams/codex/request.ts";
import { chat } from "../chat/chat.ts";
import { responses } from "../responses/responses.ts";
import { withErrorText } from "./content.ts";

const failed = (...parts: Part[]): Result => ({
  type: "result",
  call: "c",
  kind: "function",
  parts,
  isError: true,
});
const text = (said: string): Part => ({ type: "text", text: said });
const image: Part = { type: "image", url: "data:," };

describe("a result that is an error", () => {
  it.each([
    [[text("no such file")], [text("Error: no such file")]],
    [[text("")], [text("Error"), text("")]],
    [[], [text("Error")]],
    [[image], [text("Error"), image]],
  ])("is told so in its text: %j", (parts, told) => {
    let reports = 0;
    expect(withErrorText(failed(...parts), () => void reports++).parts).toEqual(told);
    expect(reports).toBe(1);
  });

  it.each([
    failed(text("Error: no")),
    failed(text("[failed] no")),
    { ...failed(), isError: false },
  ])("is left as it is where it says so itself, or is none: %j", (result) => {
    const report = (): never => expect.fail();
    expect(withErrorText(result, report)).toBe(result);
  });

  const call = {
    type: "call",
    id: "c",
    kind: "function",
    name: clientName("f"),
    input: "{}",
  } as const;
  const turn = ask({
    items: [call, failed(text("no such file"))],
    body: { input: [] },
  }) as unknown as Turn<UpstreamName>;
  const decision = {
    path: "input[1]",
    action: "reshaped",
    reason: "the text of the result states that it is an error",
  };

  it("reaches a chat upstream as a text that says so", () => {
    const to = { profile: genericChat, model: "m", straight: false };
    const written = chat.upstream.writeRequest(turn, to);
    const { messages } = JSON.parse(written.text) as { readonly messages: readonly Fields[] };
    expect(messages[1]).toMatchObject({ role: "tool", content: "Error: no such file" });
    expect(written.decisions).toContainEqual(decision);
  });

  it("reaches a Responses upstream so, too", () => {
    const to = { profile: genericResponses, model: "m", straight: false };
    const written = responses.upstream.writeRequest(turn, to);
    const { input } = JSON.parse(written.text) as { readonly input: readonly Fields[] };
    expect(input[1]).toMatchObject({ output: "Error: no such file" });
    expect(written.decisions).toContainEqual(decision);
  });

  it("reaches Codex so, too", () => {
    const { items, decisions } = writeCodexRequest(turn, "m", codexProfile);
    expect(items[1]).toMatchObject({ output: "Error: no such file" });
    expect(decisions).toContainEqual(decision);
  });
});
