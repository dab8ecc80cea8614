import { describe, expect, it } from "vitest";
import { buildDynamicTools } from "./request.ts";

const chatTool = (name: string) => ({ type: "function", function: { name, parameters: {} } });

describe("dynamic tools", () => {
  it("are the functions of a chat request", () => {
    const parameters = { type: "object" };
    const tools = [
      { type: "function", function: { name: "lookup", description: "d", parameters } },
    ];
    expect(buildDynamicTools(tools, "auto")).toEqual([
      { type: "function", name: "lookup", description: "d", inputSchema: parameters },
    ]);
  });

  it("are the functions of a Responses request, with what Codex insists on", () => {
    expect(
      buildDynamicTools([{ type: "function", name: "lookup" }, { type: "web_search" }]),
    ).toEqual([
      {
        type: "function",
        name: "lookup",
        description: "",
        inputSchema: { type: "object", properties: {} },
      },
    ]);
  });

  it("are functions that do not say so, but none without a name", () => {
    const untyped = { function: { name: "lookup" } };
    const nameless = { type: "function", function: { description: "d" } };
    const tools = [untyped, nameless, { name: "lookup" }, null, "lookup"];
    expect(buildDynamicTools(tools).map(({ name }) => name)).toEqual(["lookup"]);
  });

  it("are none where none may be called, and one where one must be", () => {
    const tools = [chatTool("a"), chatTool("b")];
    const names = (choice: unknown) => buildDynamicTools(tools, choice).map(({ name }) => name);
    expect(names("none")).toEqual([]);
    expect(names({ type: "function", function: { name: "b" } })).toEqual(["b"]);
    expect(names({ type: "function", name: "b" })).toEqual(["b"]);
    expect(names("auto")).toEqual(["a", "b"]);
    expect(names("required")).toEqual(["a", "b"]);
  });
});
