import { describe, expect, it } from "vitest";
import { Fault } from "../../turn/fault.ts";
import type { Decision } from "../../turn/decision.ts";
import { repairInto } from "../shared/shape.ts";
import { readSchema } from "./read-schema.ts";
import { readToolConfig, readTools as read } from "./read-tools.ts";

const readTools = (raw: unknown) => read(raw).tools;

const paramOf = (act: () => unknown): string | undefined => {
  try {
    act();
  } catch (error) {
    if (error instanceof Fault) return error.detail.param;
  }
  throw new Error("no fault");
};

const pathIn = (entry: number): string => `tools[${entry}].functionDeclarations[0]`;

describe("tools", () => {
  it("are read from several objects, in both cases and with both schema fields", () => {
    const schema = { type: "object", properties: { a: { type: "string" } } };
    expect(
      readTools([
        {
          functionDeclarations: [
            {
              name: "f",
              description: "d",
              parameters: { type: "OBJECT", properties: { a: { type: "STRING" } } },
            },
          ],
        },
        { function_declarations: { name: "mcp_my-lab.now", parameters_json_schema: schema } },
        { functionDeclarations: [{ name: "bare" }] },
      ]),
    ).toEqual([
      { type: "function", path: pathIn(0), name: "f", description: "d", schema },
      { type: "function", path: pathIn(1), name: "mcp_my-lab.now", schema },
      { type: "function", path: pathIn(2), name: "bare" },
    ]);
  });

  it("may be one object", () => {
    expect(readTools({ functionDeclarations: { name: "f" } })).toEqual([
      { type: "function", path: pathIn(0), name: "f" },
    ]);
  });

  it("of the provider have kinds that other dialects know", () => {
    const builtin = (entry: number, kind: string, raw: object, name = kind) => ({
      type: "builtin",
      path: `tools[${entry}].${Object.keys(raw)[0]}`,
      kind,
      name,
      dialect: "gemini",
      raw,
    });
    expect(
      readTools([
        { google_search: {} },
        { urlContext: {}, codeExecution: {} },
        { mcpServers: [{ name: "lab" }] },
        { newestThing: { a: 1 } },
      ]),
    ).toEqual([
      builtin(0, "web_search", { googleSearch: {} }),
      builtin(1, "web_fetch", { urlContext: {} }),
      builtin(1, "code_execution", { codeExecution: {} }),
      builtin(2, "mcp", { mcpServers: [{ name: "lab" }] }, "lab"),
      builtin(3, "newest_thing", { newestThing: { a: 1 } }),
    ]);
  });

  it("keep unknown fields", () => {
    const [tool] = readTools([
      { functionDeclarations: [{ name: "f", behavior: "BLOCKING", response: { type: "OBJECT" } }] },
    ]);
    expect(tool).toMatchObject({
      extra: { fields: { behavior: "BLOCKING" }, hints: { response: { type: "OBJECT" } } },
    });
  });

  it.each([
    ["search", "tools"],
    [["search"], "tools[0]"],
    [[{ functionDeclarations: [{}] }], "tools[0].functionDeclarations[0].name"],
    [[{}, { functionDeclarations: ["f"] }], "tools[1].functionDeclarations[0]"],
    [
      [{ functionDeclarations: [{ name: "f", parameters: 5 }] }],
      "tools[0].functionDeclarations[0].parameters",
    ],
    [
      [{ functionDeclarations: [{ name: "f", parametersJsonSchema: [] }] }],
      "tools[0].functionDeclarations[0].parametersJsonSchema",
    ],
  ])("that are malformed are refused by the field: %j", (tools, param) => {
    expect(paramOf(() => readTools(tools))).toBe(param);
  });
});

describe("the choice", () => {
  const choose = (functionCallingConfig: unknown) => {
    const repairs: Decision[] = [];
    const { choice } = readToolConfig({ functionCallingConfig }, repairInto(repairs));
    return [choice, repairs.length];
  };
  const ref = (name: string) => ({ kind: "function", name });

  it.each([
    [{}, undefined],
    [{ mode: "AUTO" }, { type: "auto" }],
    [{ mode: "any" }, { type: "required" }],
    [{ mode: "ANY", allowedFunctionNames: [] }, { type: "required" }],
    [
      { mode: "ANY", allowed_function_names: ["f"] },
      { type: "tool", tool: ref("f") },
    ],
    [
      { mode: "ANY", allowedFunctionNames: "f" },
      { type: "tool", tool: ref("f") },
    ],
    [
      { mode: "ANY", allowedFunctionNames: ["f", "g"] },
      { type: "allowed", mode: "required", tools: [ref("f"), ref("g")] },
    ],
    [{ mode: "NONE", allowedFunctionNames: ["f"] }, { type: "none" }],
    [{ mode: "VALIDATED" }, { type: "auto" }],
    [
      { mode: "VALIDATED", allowedFunctionNames: ["f"] },
      { type: "allowed", mode: "auto", tools: [ref("f")] },
    ],
    [{ mode: "MODE_UNSPECIFIED" }, undefined],
  ])("is read from %j", (config, choice) => {
    expect(choose(config)).toEqual([choice, 0]);
  });

  it("is never forced by names alone", () => {
    const wanted = [{ type: "allowed", mode: "auto", tools: [ref("f")] }, 1];
    expect(choose({ mode: "AUTO", allowedFunctionNames: ["f"] })).toEqual(wanted);
    expect(choose({ allowedFunctionNames: ["f"] })).toEqual(wanted);
  });

  it.each([
    [{ mode: "SOME" }, "toolConfig.functionCallingConfig.mode"],
    [
      { mode: "ANY", allowedFunctionNames: [5] },
      "toolConfig.functionCallingConfig.allowedFunctionNames[0]",
    ],
    [5, "toolConfig.functionCallingConfig"],
  ])("that is malformed is refused by the field: %j", (config, param) => {
    expect(paramOf(() => choose(config))).toBe(param);
  });

  it("keeps other fields of the configuration", () => {
    const config = {
      tool_config: undefined,
      functionCallingConfig: { mode: "VALIDATED", streamFunctionCallArguments: true },
      includeServerSideToolInvocations: true,
      retrievalConfig: { languageCode: "de" },
    };
    expect(readToolConfig(config, () => {})).toMatchObject({
      rest: { retrievalConfig: { languageCode: "de" } },
      hints: {
        includeServerSideToolInvocations: true,
        functionCallingConfig: { mode: "VALIDATED", streamFunctionCallArguments: true },
      },
    });
  });
});

describe("a schema", () => {
  it.each<[string, unknown, unknown]>([
    [
      "types in upper case",
      { type: "ARRAY", items: { type: "STRING" } },
      { type: "array", items: { type: "string" } },
    ],
    ["several types", { type: ["STRING", "NULL"] }, { type: ["string", "null"] }],
    [
      "counts in text",
      { type: "ARRAY", maxItems: "5", min_items: "1" },
      { type: "array", maxItems: 5, minItems: 1 },
    ],
    ["a nullable value", { type: "STRING", nullable: true }, { type: ["string", "null"] }],
    [
      "a nullable enum",
      { type: "STRING", enum: ["a"], nullable: true },
      { type: ["string", "null"], enum: ["a", null] },
    ],
    [
      "a nullable choice",
      { any_of: [{ type: "STRING" }], nullable: true },
      { anyOf: [{ anyOf: [{ type: "string" }] }, { type: "null" }] },
    ],
    ["a value that is not nullable", { type: "STRING", nullable: false }, { type: "string" }],
    [
      "an enum's format",
      { type: "STRING", format: "enum", enum: ["a"] },
      { type: "string", enum: ["a"] },
    ],
    [
      "references",
      { ref: "#/defs/a", defs: { a: { type: "STRING" } } },
      { $ref: "#/defs/a", $defs: { a: { type: "string" } } },
    ],
    ["an example", { type: "STRING", example: "x" }, { type: "string", examples: ["x"] }],
    [
      "values that look like schemas",
      { enum: ["STRING"], default: { type: "STRING" } },
      { enum: ["STRING"], default: { type: "STRING" } },
    ],
    [
      "properties that are named like keywords",
      { properties: { type: { type: "STRING" }, nullable: { type: "BOOLEAN" }, max_items: {} } },
      { properties: { type: { type: "string" }, nullable: { type: "boolean" }, max_items: {} } },
    ],
    [
      "keywords of JSON Schema",
      { $schema: "x", const: 1, additionalProperties: false, oneOf: [true], x_own: 1 },
      { $schema: "x", const: 1, additionalProperties: false, oneOf: [true], x_own: 1 },
    ],
    ["nothing", true, true],
  ])("is read with %s", (_, raw, schema) => {
    expect(readSchema(raw, "x")).toEqual(schema);
  });

  it("has its properties in the order that it names", () => {
    const schema = readSchema(
      { type: "OBJECT", properties: { a: {}, b: {}, c: {} }, propertyOrdering: ["c", "x", "a"] },
      "x",
    );
    expect(Object.keys((schema as { properties: object }).properties)).toEqual(["c", "a", "b"]);
    expect(schema).not.toHaveProperty("propertyOrdering");
  });

  it("may have properties of any name", () => {
    const raw = JSON.parse('{"properties":{"__proto__":{"type":"STRING"}}}') as unknown;
    expect(JSON.stringify(readSchema(raw, "x"))).toBe(
      '{"properties":{"__proto__":{"type":"string"}}}',
    );
  });
});
