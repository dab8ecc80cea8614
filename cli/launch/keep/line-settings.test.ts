import { describe, expect, it } from "vitest";
import {
  envSettings as dotenv,
  tomlSettings as toml,
  yamlListSettings as list,
  yamlSettings as yaml,
} from "./line-settings.ts";
import { MARK, type SettingEntry } from "./settings.ts";

const mark = `${MARK}patchbay launch x --restore`;
const end = "# end of what Patchbay wrote";

describe("settings in TOML", () => {
  const entries: readonly SettingEntry[] = [
    { path: ["model_provider"], value: "patchbay" },
    { path: ["model"], value: "m" },
    { path: ["model_providers", "patchbay"], value: { name: "P", base_url: "u" }, owned: true },
  ];
  const before = `# mine
model = 'gpt-9' # chosen
list = [
  "model = 1", # ]
]
text = """
[model_providers.patchbay]
"""

[model_providers.other]
name = "Other"
[model_providers.patchbay] # by hand
base_url = "http://mine/v1"
[model_providers.patchbay.http_headers]
a = "b"
`;
  const after = `# mine
# before Patchbay: model = 'gpt-9' # chosen
# ${mark}
model_provider = "patchbay"
model = "m"
${end}
list = [
`;

  it("stand before all tables and behind them, and those that they replace become comments", () => {
    const { text } = toml.write(before, entries, mark);
    expect(text.startsWith(after)).toBe(true);
    expect(text).toContain('\n# before Patchbay: base_url = "http://mine/v1"\n');
    expect(
      text.endsWith(
        `\n# ${mark}\n[model_providers.patchbay]\nname = "P"\nbase_url = "u"\n${end}\n`,
      ),
    ).toBe(true);
  });

  it("have keys as they are written: 1e2 is not 100", () => {
    const { text } = toml.write("[m]\n1e2 = 1\n", [{ path: ["m", "100"], value: 2 }], mark);
    expect(text).toContain("[m]\n1e2 = 1\n");
  });

  it("are taken out to the byte by their marks, also where nothing is known but the text", () => {
    for (const text of [before, before.replaceAll("\n", "\r\n"), "", "a = 1\n", "[t]\na = 1\n"]) {
      const written = toml.write(text, entries, mark);
      expect(toml.takeOut(written.text, written.entries, false)).toEqual({ text, left: [] });
      expect(toml.takeOut(written.text, [], true)).toEqual({ text, left: [] });
    }
  });

  it("are taken out by value where all comments are gone, and what they replaced comes back", () => {
    const { text, entries: written } = toml.write('model = "mine"\na = 1\n', entries, mark);
    const rewritten = text
      .split("\n")
      .filter((line) => !line.startsWith("#"))
      .map((line) => line.replace(/ # .*/, "").replace('"m"', "'m'"))
      .join("\n")
      .concat('extra = "by the agent"\n[new]\nb = 2\n');
    expect(toml.takeOut(rewritten, written, false)).toEqual({
      text: 'model = "mine"\na = 1\n[new]\nb = 2\n',
      left: [],
    });
  });

  it("that somebody has set anew stay, and what they replaced is not put beside them", () => {
    const { text, entries: written } = toml.write('model = "mine"\na = 1\n', entries, mark);
    const changed = text.replace(/^model = .*$/m, 'model = "newer"');
    expect(toml.takeOut(changed, written, false)).toEqual({
      text: 'model = "newer"\na = 1\n',
      left: ["model"],
    });
  });

  it("are not written into a table that cannot be added to", () => {
    expect(() => toml.write("model_providers = { a = { name = 'x' } }\n", entries, mark)).toThrow(
      "has `model_providers` as an inline value (line 1)",
    );
  });
});

describe("settings in YAML", () => {
  const entries: readonly SettingEntry[] = [
    { path: ["model"], value: "openai/m" },
    { path: ["openai-api-base"], value: "http://u/v1" },
  ];
  const before = `---
# mine
"model": gpt-9
alias:
- "a:b"
text: |
  model: no

`;

  it("are taken out to the byte, by marks or by value", () => {
    for (const text of [before, before.replaceAll("\n", "\r\n"), "", "a: 1\n", "# none\n"]) {
      const { text: now, entries: written } = yaml.write(text, entries, mark);
      expect(yaml.takeOut(now, written, false)).toEqual({ text, left: [] });
    }
    const { text, entries: written } = yaml.write("a: 1\n", entries, mark);
    const rewritten = text.replaceAll(/ # .*/g, "").replaceAll('"', "'").concat("b: 2\n");
    expect(yaml.takeOut(rewritten, written, false)).toEqual({ text: "a: 1\nb: 2\n", left: [] });
  });

  it("are not written into what is no list of keys", () => {
    expect(() => yaml.write("{ a: 1 }\n", entries, mark)).toThrow("see line 1");
    expect(() => yaml.write("a: 1\n...\nb: 2\n", entries, mark)).toThrow("see line 3");
  });
});

describe("members of a list in YAML", () => {
  const item = { name: "Patchbay", model: "m", capabilities: ["tool_use"] };
  const entries: readonly SettingEntry[] = [{ path: ["models"], value: item }];
  const block = `name: Mine\nmodels:\n    - name: A # a\n      model: a\nrules: []\n`;

  it("come first, and are taken out to the byte", () => {
    for (const text of [
      block,
      block.replaceAll("\n    ", "\n"),
      "models: # none\n",
      "a: 1\n",
      "",
    ]) {
      const { text: now, entries: written } = list.write(text, entries, mark);
      expect(now).toMatch(/models:.*\n *# by Patchbay.*\n *- \{"name":"Patchbay"/);
      expect(list.takeOut(now, written, false)).toEqual({ text, left: [] });
    }
  });

  it("are found by value where an agent has written the file anew", () => {
    const { entries: written } = list.write(block, entries, mark);
    const anew = `name: Mine\nmodels:\n  - name: Patchbay\n    model: m\n    capabilities:\n      - tool_use\n  - name: A\n    model: a\n`;
    expect(list.takeOut(anew, written, false).text).toBe(
      "name: Mine\nmodels:\n  - name: A\n    model: a\n",
    );
  });

  it("are not written into a list in one piece", () => {
    expect(() => list.write("models: [{ name: a }]\n", entries, mark)).toThrow(
      "as an inline value",
    );
  });
});

describe("variables in a `.env` file", () => {
  const entries: readonly SettingEntry[] = [
    { path: ["KEY"], value: "k-1" },
    { path: ["MODEL"], value: `it's "big" m` },
  ];
  const before = `# mine
export KEY="a
KEY=not this one
b" # old
OTHER='KEY=x'
KEY: again
MODELS=1
BROKEN="never closed
`;

  it("replace those of the same name, however they are written", () => {
    const { text } = dotenv.write(before, entries, mark);
    const live = text.split("\n").filter((line) => !line.startsWith("#") && line !== "");
    expect(live).toEqual([
      "KEY=k-1",
      `MODEL=\`it's "big" m\``,
      "OTHER='KEY=x'",
      "MODELS=1",
      'BROKEN="never closed',
    ]);
  });

  it("are taken out to the byte, by their values and by their marks alone", () => {
    for (const text of [before, before.replaceAll("\n", "\r\n"), "", "A=1", "\n\n# a\n"]) {
      const written = dotenv.write(text, entries, mark);
      expect(dotenv.takeOut(written.text, written.entries, false)).toEqual({ text, left: [] });
      expect(dotenv.takeOut(written.text, [], true)).toEqual({ text, left: [] });
    }
  });

  it("are taken out after their marks are gone, and stay with another value", () => {
    const written = dotenv.write(before, entries, mark);
    const unmarked = written.text.replaceAll(/^# (?:by|end of what) Patchbay.*\n/gm, "");
    expect(dotenv.takeOut(unmarked, written.entries, false)).toEqual({ text: before, left: [] });
    const changed = written.text.replace("KEY=k-1", "KEY=k-2");
    expect(dotenv.takeOut(changed, written.entries, false).left).toEqual(["KEY"]);
  });

  it("are read in a time that grows as the text does, with quotes that never close", () => {
    const long = `${'A="\n'.repeat(20_000)}${"B='\\'".repeat(50_000)}`;
    expect(dotenv.write(long, entries, mark).text).toContain("KEY=k-1");
  });
});
