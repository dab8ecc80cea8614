import { describe, expect, it } from "vitest";
import { Fault } from "../../turn/fault.ts";
import type { Fields } from "../../turn/turn.ts";
import { readRequest } from "./read-request.ts";

function faultOf(body: Fields): Fault {
  try {
    readRequest(body);
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error("it was read");
}

describe("a Responses request that is wrong", () => {
  it.each<[Fields, string]>([
    [{ model: 5 }, "model"],
    [{ input: 5 }, "input"],
    [{ input: {} }, "input"],
    [{ input: undefined }, "input"],
    [{ input: [null] }, "input[0]"],
    [{ input: ["x"] }, "input[0]"],
    [{ input: [{}] }, "input[0].type"],
    [{ input: [{ role: "robot", content: "x" }] }, "input[0].role"],
    [{ input: [{ role: "user" }] }, "input[0].content"],
    [{ input: [{ role: "user", content: 5 }] }, "input[0].content"],
    [{ input: [{ role: "user", content: [null] }] }, "input[0].content[0]"],
    [{ input: [{ role: "user", content: [{ type: 5 }] }] }, "input[0].content[0].type"],
    [
      { input: ["a", "b"].map(() => ({ role: "user", content: [{ type: "input_text" }] })) },
      "input[0].content[0].text",
    ],
    [
      { input: [{ role: "user", content: [{ type: "input_image", image_url: { url: 5 } }] }] },
      "input[0].content[0].image_url.url",
    ],
    [{ input: [{ type: "function_call", name: "f", arguments: "{}" }] }, "input[0].call_id"],
    [{ input: [{ type: "function_call", call_id: "c", arguments: "{}" }] }, "input[0].name"],
    [
      { input: [{ type: "function_call", call_id: "c", name: "f", arguments: {} }] },
      "input[0].arguments",
    ],
    [{ input: [{ type: "function_call_output", output: "x" }] }, "input[0].call_id"],
    [{ input: [{ type: "function_call_output", call_id: "c", output: 5 }] }, "input[0].output"],
    [{ input: [{ type: "local_shell_call", call_id: "c", action: 5 }] }, "input[0].action"],
    [{ input: [{ type: "reasoning", summary: "x" }] }, "input[0].summary"],
    [{ input: [{ type: "reasoning", summary: [{ text: 5 }] }] }, "input[0].summary[0].text"],
    [{ instructions: ["x"] }, "instructions"],
    [{ tools: "x" }, "tools"],
    [{ tools: {} }, "tools"],
    [{ tools: [null] }, "tools[0]"],
    [{ tools: [{}] }, "tools[0].type"],
    [{ tools: [{ type: "function" }] }, "tools[0].name"],
    [{ tools: [{ type: "function", name: "" }] }, "tools[0].name"],
    [{ tools: [{ type: "function", name: "f", parameters: "x" }] }, "tools[0].parameters"],
    [{ tools: [{ type: "function", function: { name: 5 } }] }, "tools[0].function.name"],
    [
      { tools: [{ type: "namespace", name: "n", tools: [{ type: "namespace" }] }] },
      "tools[0].tools[0].type",
    ],
    [{ tool_choice: "maybe" }, "tool_choice"],
    [{ tool_choice: 5 }, "tool_choice"],
    [{ tool_choice: { type: "function" } }, "tool_choice.name"],
    [{ tool_choice: { type: "allowed_tools", tools: [] } }, "tool_choice.tools"],
    [{ text: { format: "json" } }, "text.format"],
    [{ text: { format: { type: "json_schema", name: "n" } } }, "text.format.schema"],
    [{ text: "x" }, "text"],
    [{ stream: "yes" }, "stream"],
    [{ temperature: "hot" }, "temperature"],
    [{ max_output_tokens: 1.5 }, "max_output_tokens"],
    [{ reasoning: "high" }, "reasoning"],
    [{ reasoning: { effort: 5 } }, "reasoning.effort"],
  ])("%j names %s", (more, param) => {
    const fault = faultOf({ model: "m", input: "Hi", ...more });
    expect([fault.code, fault.detail.param]).toEqual(["request.invalid", param]);
    expect(fault.message).toContain(`\`${param}\``);
  });

  it.each([undefined, null, ""])("is told when its model is %j", (model) => {
    expect(faultOf({ model, input: "Hi" })).toMatchObject({
      code: "request.missing_model",
      detail: { param: "model" },
    });
  });

  it("is told what belongs where", () => {
    expect(faultOf({ model: "m", messages: [] }).message).toBe(
      "`input` is missing; a request with `messages` goes to /v1/chat/completions.",
    );
    expect(faultOf({ model: "m", input: 5 }).message).toBe(
      "`input` must be a string or an array, not a number.",
    );
    expect(faultOf({ model: "m", input: [{ role: "robot" }] }).message).toBe(
      '`input[0].role` must be one of "user", "assistant", "system", "developer", not "robot".',
    );
    expect(
      faultOf({ model: "m", input: "Hi", tools: [{ type: "custom", name: "" }] }).message,
    ).toBe("`tools[0].name` must not be empty.");
    expect(
      faultOf({ model: "m", input: "Hi", tools: [{ type: "custom", name: "c", format: 5 }] })
        .message,
    ).toBe("`tools[0].format` must be an object, not a number.");
    expect(
      faultOf({ model: "m", input: "Hi", tools: [{ type: "function", name: "f", parameters: 5 }] })
        .message,
    ).toBe("`tools[0].parameters` must be a JSON Schema: an object.");
  });
});
