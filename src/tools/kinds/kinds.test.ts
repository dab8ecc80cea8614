import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { builtin, custom } from "../../../test/support/turns.ts";
import type { Callable } from "../../turn/turn.ts";
import type { StandIn } from "./kinds.ts";
import { toolKindOf } from "./kinds.ts";

function standInOf(kind: string): StandIn {
  const standIn = toolKindOf(kind)?.standIn;
  if (standIn === undefined) throw new Error(`nothing stands in for ${kind}`);
  return standIn;
}
const restore = (kind: string, text: string, complete = true): string => {
  const decoder = standInOf(kind).decoder();
  return decoder.each(text) + decoder.end(complete);
};
const restoreValue = (kind: string, args: unknown): unknown =>
  JSON.parse(restore(kind, JSON.stringify(args)));

const text = fc.string({ minLength: 1 });
/** Inputs as clients have them, by kind. */
const inputs: Record<string, fc.Arbitrary<string>> = {
  custom: fc.string(),
  local_shell: fc
    .record(
      {
        command: fc.array(text, { minLength: 1 }),
        env: fc.dictionary(text, text),
        timeout_ms: fc.nat(),
        working_directory: text,
        user: text,
      },
      { requiredKeys: ["command", "env"] },
    )
    .map((action) => JSON.stringify({ type: "exec", ...action })),
  shell: fc
    .record(
      {
        commands: fc.array(text, { minLength: 1 }),
        timeout_ms: fc.nat(),
        max_output_length: fc.nat(),
      },
      { requiredKeys: ["commands"] },
    )
    .map((action) => JSON.stringify(action)),
  apply_patch: fc
    .oneof(
      fc.record({
        type: fc.constantFrom("create_file", "update_file"),
        path: fc.string(),
        diff: fc.string(),
      }),
      fc.record({ type: fc.constant("delete_file"), path: fc.string() }),
    )
    .map((operation) => JSON.stringify(operation)),
  tool_search: fc
    .record({ query: fc.string(), limit: fc.nat() })
    .map((query) => JSON.stringify(query)),
};

describe("stand-ins", () => {
  it.each(Object.keys(inputs))("give back every input of %s, byte for byte", (kind) => {
    fc.assert(
      fc.property(inputs[kind] ?? fc.string(), (input) => {
        expect(restore(kind, standInOf(kind).encode(input))).toBe(input);
      }),
    );
  });

  it.each(Object.keys(inputs))("of %s leave malformed arguments as they are", (kind) => {
    expect(restore(kind, '{"command": [')).toBe('{"command": [');
  });

  it.each(Object.keys(inputs))("of %s declare an object that an upstream can take", (kind) => {
    const tool: Callable = kind === "custom" ? custom("run") : builtin(kind);
    const { schema, description } = standInOf(kind).declare(tool);
    expect(schema).toMatchObject({ type: "object", properties: expect.anything() });
    expect(description).not.toBe("");
  });

  it("says a grammar once, and that it is not enforced", () => {
    const format = { type: "grammar", syntax: "lark", definition: "start: HUNK+" };
    const { description, schema, losses } = standInOf("custom").declare(custom("patch", format));
    expect(description).toContain("lark grammar:\nstart: HUNK+");
    expect(JSON.stringify(schema)).not.toContain("HUNK");
    expect(losses).toEqual(["its grammar is described but not enforced"]);
  });

  it("takes a command however a model writes it", () => {
    const exec = (command: string[]) => ({ type: "exec", command, env: {} });
    expect(restoreValue("local_shell", { command: "ls -la | wc" })).toEqual(
      exec(["bash", "-lc", "ls -la | wc"]),
    );
    expect(restoreValue("local_shell", { command: "ls" })).toEqual(exec(["ls"]));
    expect(restoreValue("local_shell", { cmd: ["ls", "-la"] })).toEqual(exec(["ls", "-la"]));
    expect(restoreValue("local_shell", ["ls", "-la"])).toEqual(exec(["ls", "-la"]));
    expect(JSON.parse(restore("local_shell", "ls -la"))).toEqual(exec(["bash", "-lc", "ls -la"]));
    expect(restoreValue("shell", { commands: "ls" })).toEqual({ commands: ["ls"] });
    expect(restoreValue("shell", { command: ["a", "b"] })).toEqual({ commands: ["a", "b"] });
    expect(JSON.parse(restore("shell", "ls -la"))).toEqual({ commands: ["ls -la"] });
  });

  it.each<[string, unknown, unknown]>([
    ["local_shell", { command: ["ls"] }, { type: "exec", command: ["ls"], env: {} }],
    ["shell", { commands: ["ls"] }, { commands: ["ls"] }],
    [
      "apply_patch",
      { operation: { type: "delete_file", path: "a" } },
      { type: "delete_file", path: "a" },
    ],
    ["tool_search", { query: "git" }, { query: "git" }],
  ])("reads arguments of %s that were put in a text once more", (kind, args, value) => {
    expect(restoreValue(kind, JSON.stringify(args))).toEqual(value);
  });

  it("reads the input of a custom tool that was put in a text once more", () => {
    expect(restore("custom", JSON.stringify('{"input":"a\\nb"}'))).toBe("a\nb");
    expect(restore("custom", JSON.stringify('{"query":"a"}'))).toBe('{"query":"a"}');
  });

  it("takes a value with or without the key that its kind of call has around it", () => {
    const exec = { type: "exec", command: ["ls"], env: {} };
    expect(restoreValue("local_shell", { action: exec })).toEqual(exec);
    expect(restoreValue("shell", { action: { commands: ["ls"] } })).toEqual({ commands: ["ls"] });
    const operation = { type: "delete_file", path: "a" };
    expect(restoreValue("apply_patch", { operation: JSON.stringify(operation) })).toEqual(
      operation,
    );
  });

  it("leaves arguments alone that hold no command", () => {
    expect(restore("local_shell", '{"command":[]}')).toBe('{"command":[]}');
    expect(restore("shell", '{"commands":[1]}')).toBe('{"commands":[1]}');
    expect(restore("apply_patch", '{"operation":{"type":"rename"}}')).toBe(
      '{"operation":{"type":"rename"}}',
    );
  });

  it("takes an operation with or without the key around it", () => {
    const operation = { type: "delete_file", path: "a.txt" };
    expect(restoreValue("apply_patch", { operation })).toEqual(operation);
    expect(restoreValue("apply_patch", operation)).toEqual(operation);
  });

  it("does not read what was cut off as if it were whole", () => {
    expect(restore("local_shell", '{"command":["rm","-rf","/"]', false)).toBe(
      '{"command":["rm","-rf","/"]',
    );
    expect(restore("shell", "rm -rf /tmp/x", false)).toBe("rm -rf /tmp/x");
  });

  it("tells results as text", () => {
    const output = [
      { stdout: "a\n", stderr: "", outcome: { type: "exit", exit_code: 0 } },
      { stdout: "", stderr: "slow", outcome: { type: "timeout" } },
    ];
    const parts = [{ type: "text", text: JSON.stringify(output) } as const];
    expect(
      standInOf("shell").answer?.({ type: "result", call: "c", kind: "shell", parts }, []),
    ).toEqual([{ type: "text", text: "[exit 0]\na\n\n[timed out]\nslow" }]);
  });
});

describe("toolKindOf", () => {
  it.each([
    ["web_search_preview", "web_search"],
    ["web_search_preview_2025_03_11", "web_search"],
    ["web_search_2025_08_26", "web_search"],
    ["computer_use_preview", "computer_use"],
    ["computer", "computer_use"],
    ["local_shell", "local_shell"],
  ])("knows %s as %s", (name, kind) => {
    expect(toolKindOf(name)?.kind).toBe(kind);
  });

  it("knows nothing of other names", () => {
    expect(toolKindOf("web_searching")).toBeUndefined();
    expect(toolKindOf("constructor")).toBeUndefined();
  });
});
