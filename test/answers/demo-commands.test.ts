import { expect, it } from "vitest";
import { serve } from "../support/serve.ts";

const said = "Run `ls -la | wc -l` in this folder.";
const messages = [{ role: "user", content: said }];
const text = { type: "string" };
const schemaOf = (name: string, type: object) => ({
  type: "object",
  properties: { [name]: type },
  required: [name],
});
const weather = schemaOf("city", text);

it.each([
  [
    "chat/completions",
    {
      messages,
      tools: [
        { type: "function", function: { name: "get_weather", parameters: weather } },
        { type: "function", function: { name: "exec_command", parameters: schemaOf("cmd", text) } },
      ],
    },
    { name: "exec_command", arguments: JSON.stringify({ cmd: "ls -la | wc -l" }) },
  ],
  [
    "responses",
    { input: said, tools: [{ type: "local_shell" }] },
    { type: "exec", command: ["bash", "-lc", "ls -la | wc -l"] },
  ],
  [
    "messages",
    {
      messages,
      max_tokens: 500,
      tools: [
        { name: "Read", input_schema: weather },
        { name: "Bash", input_schema: schemaOf("command", text) },
      ],
    },
    { name: "Bash", input: { command: "ls -la | wc -l" } },
  ],
])("the demo runs a command by the client's shell at /v1/%s", async (path, body, call) => {
  await using served = await serve({
    upstreams: { demo: { dialect: "scripted" } },
    models: { "*": "demo/demo" },
  });
  const ask = async (more: object): Promise<string> => {
    const response = await fetch(`${served.url}/v1/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "m", ...body, ...more }),
    });
    return await response.text();
  };
  expect(await ask({})).toContain(JSON.stringify(call).slice(1, -1));
  expect(await ask({ tools: [] })).toContain(
    "I cannot run `ls -la | wc -l`: the client offers no tool",
  );
});
