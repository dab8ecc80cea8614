import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { finalText, wantedInputs } from "../sdk/gateway.ts";
import {
  backends,
  geminiGateways,
  lastSent,
  numbered,
  pixel,
  structuredText,
  type GeminiGateway,
} from "./gateway.ts";

const python = fileURLToPath(new URL("../../.cache/gemini-python/bin/python", import.meta.url));
const script = fileURLToPath(new URL("python.py", import.meta.url));
const missing = !existsSync(python);
if (missing)
  process.stderr.write(
    "Google's Python SDK is not tried: .ci/run installs it into .cache/gemini-python\n",
  );

const open = geminiGateways();
const run = promisify(execFile);

/** What one function of the script made of the gateway. */
async function tried(name: string, { url }: Pick<GeminiGateway, "url">): Promise<unknown> {
  const { stdout } = await run(python, [script, url, pixel, name]);
  return (JSON.parse(stdout) as { result: unknown }).result;
}

const called = wantedInputs.map(({ name, input }) => [name, input]);
const answers = ["Answer 1.", "Answer 2.", "Answer 3."];
const remembered = ["Question 1?", "Answer 1.", "Question 2?", "Answer 2.", "Question 3?"];

describe.skipIf(missing).each(backends)(
  "google-genai for Python, with %s behind the gateway",
  (back) => {
    it.each(["tools", "streamed_tools"])(
      "runs tools by itself, once for each call: %s",
      async (name) => {
        await using gateway = await open(back);
        expect(await tried(name, gateway)).toEqual([finalText, called]);
      },
    );

    it.each(["chat", "streamed_chat"])("remembers three turns: %s", async (name) => {
      await using gateway = await open(back, numbered);
      expect(await tried(name, gateway)).toEqual(answers);
      for (const text of remembered) expect(lastSent(gateway)).toContain(text);
    });

    it("gets JSON by a schema", async () => {
      await using gateway = await open(back, () => ({ text: structuredText }));
      expect(await tried("structured", gateway)).toEqual({ city: "Zürich", days: 3 });
    });

    it("sends a file along", async () => {
      await using gateway = await open(back, numbered);
      expect(await tried("file", gateway)).toBe("Answer 1.");
      const bytes = lastSent(gateway).replaceAll("-", "+").replaceAll("_", "/");
      expect(bytes).toContain(pixel);
    });

    it("counts tokens", async () => {
      await using gateway = await open(back);
      expect(await tried("count", gateway)).toBeGreaterThan(3);
    });

    it.skipIf(back === "codex")("lists models", async () => {
      await using gateway = await open(back);
      const [names, name] = (await tried("models", gateway)) as [string[], string];
      expect(names.slice(0, 2)).toEqual(["models/m", "models/gemini-2.5-flash"]);
      expect(name).toBe("models/m");
    });
  },
);
