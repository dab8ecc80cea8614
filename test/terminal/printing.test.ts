import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it, onTestFinished } from "vitest";
import { fakeUpstream, json } from "../support/fake-upstream.ts";
import { openTerminal, type Terminal } from "./terminal.ts";

/** Sets a title, clears the screen in two ways, begins a line of its own and turns the text around. */
const HOSTILE = "\u001B]0;owned\u0007\u001B[2J\u009B31m\r\nroot# \u202Etxt\u2066\u007F";
/** Whatever controls a terminal but a line's end. */
const CONTROLS = new RegExp(
  String.raw`[\0-\t\v-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]`,
);

/** JSON that any parser takes, YAML's too. */
const ascii = (value: unknown): string =>
  JSON.stringify(value).replaceAll(
    /[^ -~]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

const body = {
  model: `m${HOSTILE}`,
  messages: [{ role: "user", content: "Hi" }],
  tools: [{ type: "function", function: { name: `t${HOSTILE}`, description: HOSTILE } }],
  [`p${HOSTILE}`]: 1,
};

/** A gateway whose configuration, upstream and clients all use such names, and a turn that failed at it. */
async function hostileGateway(terminal: Terminal) {
  const fake = await fakeUpstream(({ path }) =>
    path === "/v1/models"
      ? json({ data: [{ id: `listed${HOSTILE}` }] })
      : json({ error: { message: `bad${HOSTILE}`, code: `code${HOSTILE}` } }, 400),
  );
  onTestFinished(() => fake[Symbol.asyncDispose]());
  const config = terminal.write(
    "hostile.json",
    ascii({
      upstreams: {
        it: { dialect: "chat", base_url: fake.url, retries: 0 },
        gone: { dialect: "chat", base_url: "http://127.0.0.1:9/v1", retries: 0 },
      },
      models: { [`m${HOSTILE}`]: `it/m${HOSTILE}`, [`g${HOSTILE}`]: "gone/m" },
      telemetry: { recording: "all" },
    }),
  );
  const gateway = await terminal.serve(["--config", config]);
  const send = (id: string, model: string) =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-request-id": id },
      body: ascii({ ...body, model }),
    });
  await (await send("bad-1", `m${HOSTILE}`)).text();
  await (await send("bad-2", `g${HOSTILE}`)).text();
  await (await send("bad-3", `none${HOSTILE}`)).text();
  return { config, gateway };
}

function expectHarmless({ out, errors }: { readonly out: string; readonly errors: string }) {
  expect(out + errors).not.toMatch(CONTROLS);
  expect(out + errors).not.toMatch(/^root# /m);
}

describe.skipIf(process.platform === "win32")("what commands print", { timeout: 120_000 }, () => {
  it("controls no terminal, whatever names and messages clients, upstreams and files use", async () => {
    await using terminal = openTerminal();
    const { config, gateway } = await hostileGateway(terminal);
    const request = terminal.write("request.json", ascii(body));
    const odd = terminal.write("odd.json", ascii({ [`key${HOSTILE}`]: 1 }));
    const named = ["--model", `m${HOSTILE}`];
    const commands: readonly (readonly string[])[] = [
      ["status"],
      ["status", "--url", gateway.url, "--key", "x"],
      ["logs"],
      ["logs", "--turn", "bad-1"],
      ["logs", "--turn", `none${HOSTILE}`],
      ["logs", "--url", gateway.url, "--key", "x"],
      ["check", "--config", config],
      ["check", "--config", odd],
      ["plan", request, "--config", config],
      ["plan", request, "--config", config, "--model", `none${HOSTILE}`],
      ["doctor", "--probe", `m${HOSTILE}`],
      ["doctor", "--config", config],
      ["smoke", "--url", gateway.url, ...named],
      ["health", "--url", gateway.url],
      ["explain", "bad-1"],
      ["replay", "bad-1"],
      ["bundle", "bad-1"],
      ["bundle", `none${HOSTILE}`],
      ["trust", `none${HOSTILE}`],
      ["launch", `none${HOSTILE}`],
      ["launch", "codex", "--keep", "--url", gateway.url],
      ["launch", "codex", "--restore"],
    ];
    for (const command of commands) {
      const [lines, values] = await Promise.all([
        terminal.patchbay(...command),
        terminal.patchbay(...command, "--json"),
      ]);
      expectHarmless(lines);
      expectHarmless(values);
      expectJson(values.out);
    }
    expectHarmless(await terminal.patchbay("bundle", "bad-1", "--preview"));
    expectHarmless(await terminal.patchbay("complete", "plan", "--model", ""));
    for (const more of [[], ["--json"]]) {
      const top = terminal.start(["top", ...more]);
      const [line] = await firstLines(top.stdout, 1);
      expectHarmless({ out: line ?? "", errors: "" });
      top.kill("SIGINT");
    }
    const folder = join(terminal.home, ".local", "state", "patchbay", "recordings");
    expect(readdirSync(folder).length).toBeGreaterThan(0);
    await gateway.stop();
    expectHarmless({ out: "", errors: gateway.errors() });
  });
});

/** One value, or one in each line. */
function expectJson(out: string): void {
  const texts = out.startsWith("{\n") ? [out] : out.split("\n").filter(Boolean);
  for (const text of texts) JSON.parse(text);
}

async function firstLines(stream: NodeJS.ReadableStream, count: number): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of createInterface({ input: stream })) {
    lines.push(line);
    if (lines.length === count) break;
  }
  return lines;
}
