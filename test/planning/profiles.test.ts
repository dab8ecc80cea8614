import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { supportMatrix } from "../../scripts/reference/profiles.ts";
import { findingLine } from "../../src/host/config/config-file.ts";
import { loadConfig } from "../../src/host/config/load.ts";
import { askWithin } from "../support/client.ts";
import { fakeUpstream, json } from "../support/fake-upstream.ts";
import { serve } from "../support/serve.ts";

const page = readFileSync(
  join(import.meta.dirname, "../../docs/guides/adding-a-provider.md"),
  "utf8",
);
const examples = [...page.matchAll(/```yaml\n(.*?)```/gs)].map(([, text = ""]) => text);

let directory = "";
beforeEach(() => void (directory = mkdtempSync(join(tmpdir(), "patchbay-profiles-"))));
afterEach(() => rmSync(directory, { recursive: true }));

/** Loads a configuration as a user has it: a file, and keys in the environment. */
function load(text: string) {
  writeFileSync(join(directory, "patchbay.yaml"), text);
  const keys = [...text.matchAll(/\$\{(\w+)\}/g)].map(([, name = ""]) => [name, "k"] as const);
  const loaded = loadConfig({
    env: { ...Object.fromEntries(keys), XDG_STATE_HOME: directory },
    directory,
    file: "patchbay.yaml",
  });
  if (loaded.ok) return loaded.config;
  throw new Error(loaded.findings.map(findingLine).join("\n"));
}

describe("the page of profiles", () => {
  it.each(examples)("has examples that load", (example) => {
    expect(Object.keys(load(example).upstreams).length).toBeGreaterThan(0);
  });

  it("adds a provider in YAML alone", async () => {
    await using model = await fakeUpstream(() =>
      json({ choices: [{ message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }] }),
    );
    const example = examples.find((text) => text.includes("acme")) ?? "";
    const config = load(example.replace("https://llm.acme.example/v1", model.url));
    await using served = await serve({ ...config, models: { "*": "acme/big" } });

    const response = await askWithin(served, "responses", {
      max_output_tokens: 9,
      user: "u",
      reasoning: { effort: "none" },
      tool_choice: "required",
      tools: [
        { type: "function", name: "Get.Weather", parameters: { type: "object" } },
        { type: "custom", name: "note" },
        { type: "web_search", search_context_size: "high" },
        { type: "file_search", vector_store_ids: ["v"] },
      ],
    });

    expect(response.status).toBe(200);
    expect(response.headers.get("x-patchbay-plan")).toBe(
      "native=2 degraded=1 deferred=0 ignored=1",
    );
    const [heard] = model.requests;
    expect(heard?.headers.authorization).toBe("Bearer k");
    expect(heard?.body).toMatchObject({ model: "big", max_new_tokens: 9, tool_choice: "auto" });
    expect(heard?.body).toMatchObject({ split_thoughts: true, think: false });
    expect(heard?.body).not.toHaveProperty("user");
    expect(heard?.body).not.toHaveProperty("reasoning_effort");
    expect(heard?.body["tools"]).toMatchObject([
      { type: "function", function: { name: expect.stringMatching(/^[a-z_]+$/) as string } },
      { type: "function", function: { name: "note" } },
      { type: "acme_search", depth: "high" },
    ]);
  });
});

describe("a profile in a configuration", () => {
  const image = { type: "input_image", image_url: "data:image/png;base64,AA" };
  const input = [{ type: "message", role: "user", content: [image] }];

  it("differs by model as the profile says, and as the configuration says after it", async () => {
    await using model = await fakeUpstream(() =>
      json({ choices: [{ message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }] }),
    );
    const config = load(`
upstreams:
  up:
    dialect: chat
    profile: deepseek
    base_url: ${model.url}
    capabilities:
      models:
        - match: own-*
          history: { media: [image] }
          fields: { detail: full }
models: { "*": up/* }
`);
    await using served = await serve(config);
    const sees = async (name: string): Promise<boolean> => {
      await askWithin(served, "responses", { model: name, input });
      return JSON.stringify(model.requests.at(-1)?.body).includes("image_url");
    };
    expect(await sees("deepseek-v4-pro")).toBe(false);
    expect(await sees("deepseek-flash")).toBe(true);
    expect(await sees("own-model")).toBe(true);
    expect(model.requests.at(-1)?.body).toMatchObject({ detail: "full", model: "own-model" });
  });
});

describe("the support matrix", () => {
  const rows = supportMatrix()
    .split("\n")
    .map((line) => line.split("|").map((cell) => cell.trim()));
  const names = (cell = ""): readonly string[] => cell.replaceAll("`", "").split(", ");
  const cell = (kind: string, profile: string): string | undefined =>
    rows.find(([, providers]) => names(providers).includes(profile))?.[
      rows[0]?.findIndex((kinds) => names(kinds).includes(kind)) ?? -1
    ];

  it("says what the planner does", () => {
    expect(cell("custom", "openai")).toBe("native");
    expect(cell("custom", "deepseek")).toBe("degraded");
    expect(cell("namespace", "openai-responses")).toBe("native");
    expect(cell("web_search", "zhipu")).toBe("native");
    expect(cell("web_search", "groq")).toBe("ignored");
  });
});
