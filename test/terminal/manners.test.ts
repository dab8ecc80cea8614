import { describe, expect, it } from "vitest";
import { openTerminal } from "./terminal.ts";

const GONE = "http://127.0.0.1:9";

describe("patchbay smoke", { timeout: 60_000 }, () => {
  it("ends with 3 where no gateway answers, and says so once", async () => {
    await using terminal = openTerminal();
    const [first, named, json] = await Promise.all([
      terminal.patchbay("smoke", "--url", GONE),
      terminal.patchbay("smoke", "--url", GONE, "--model", "m"),
      terminal.patchbay("smoke", "--url", GONE, "--json"),
    ]);
    for (const { code, out, errors } of [first, named]) {
      expect([code, out]).toEqual([3, ""]);
      expect(errors).toMatch(/^No gateway answers at [^\n]+\n$/);
    }
    expect([json.code, json.errors]).toEqual([3, ""]);
    expect(JSON.parse(json.out)).toMatchObject({ ok: false, answers: [] });
  });
});

describe("patchbay check", { timeout: 60_000 }, () => {
  it("takes the file that is named, with and without --config", async () => {
    await using terminal = openTerminal();
    const file = terminal.write("other.yaml", "models: { mine: demo/demo }\n");
    const [named, option, both] = await Promise.all([
      terminal.patchbay("check", "other.yaml"),
      terminal.patchbay("check", "--config", "other.yaml"),
      terminal.patchbay("check", "other.yaml", "--config", "patchbay.yaml"),
    ]);
    expect([named.code, named.errors, named.out]).toEqual([0, "", option.out]);
    expect(named.out).toContain(`${file}: no problems.`);
    expect([both.code, both.out]).toEqual([2, ""]);
    expect(both.errors).toContain("Give one file");
  });

  it("finds a key that names a variable without braces, and not one that a variable holds", async () => {
    await using terminal = openTerminal();
    const upstream = (key: string): string =>
      `{ dialect: chat, base_url: "http://127.0.0.1:9/v1", api_key: ${key} }`;
    const config = `server: { keys: [$MINE, { name: ann, key: $HERS }] }
upstreams:
  a: ${upstream("$A_KEY")}
  b: ${upstream('"${B_KEY}"')}
  c: ${upstream("sk-$dollar")}
`;
    terminal.write("keys.yaml", config);
    const { code, errors } = await terminal.patchbayWith({ B_KEY: "$odd" }, "check", "keys.yaml");
    const said = (name: string): string =>
      `is the literal text \`$${name}\`; write \`\${${name}}\` to use the value of that variable`;
    expect([code, errors.trim().split("\n").length]).toEqual([1, 3]);
    for (const name of ["MINE", "HERS", "A_KEY"]) expect(errors).toContain(said(name));
  });
});

describe("a message about what is missing", { timeout: 60_000 }, () => {
  it("names the remedy of its command, and claims nothing that was not found out", async () => {
    await using terminal = openTerminal();
    const gone = `upstreams: { a: { dialect: chat, base_url: "${GONE}/v1", retries: 0 } }\n`;
    terminal.write("gone.yaml", `${gone}models: { "*": a/m }\n`);
    terminal.write("request.json", `{"contents":[]}`);
    const [plan, probe, bundle, launch] = await Promise.all([
      terminal.patchbay("plan", "request.json"),
      terminal.patchbay("doctor", "--config", "gone.yaml", "--probe"),
      terminal.patchbay("explain", "nowhere"),
      terminal.patchbay("launch", "codex", "--unknown"),
    ]);
    expect(plan.errors).toContain("request.json names no model; name one with `--model`.");
    expect(probe.out).toContain("Nothing was found out about the capabilities of the model.");
    expect(bundle.errors).toContain("There is no file `nowhere`, and no turn with this id in ");
    expect(launch.errors).toContain("write the agent's own arguments after --");
  });
});
