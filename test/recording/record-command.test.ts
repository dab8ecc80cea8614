import { once } from "node:events";
import { readdirSync, readFileSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { answerInChat } from "../support/fake-model.ts";
import { fakeUpstream, frame, sse, type Model } from "../support/fake-upstream.ts";
import { until } from "../support/loopback.ts";
import { openTerminal, type OpenedGateway, type Terminal } from "../terminal/terminal.ts";

const canaries = {
  client: "canary-client-key-1f7e",
  upstream: "canary-upstream-key-93ab",
  lookalike: "sk-canary0123456789abcdef0123",
  word: "Zanzibar",
};
const environment = { UPSTREAM_KEY: canaries.upstream, PATCHBAY_API_KEY: canaries.client };

/** All files in a folder, by their paths. */
const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

const bundlesIn = (terminal: Terminal): string[] =>
  filesIn(terminal.home)
    .filter((file) => file.endsWith(".bundle.jsonl"))
    .toSorted();

const isSealed = (file: string): boolean => readFileSync(file, "utf8").includes('{"line":"seal"');

/** A configuration, whose keys come from the environment. */
function configured(
  terminal: Terminal,
  upstream: { readonly url: string },
  content: "masked" | "full" = "masked",
): string {
  const config = {
    upstreams: {
      fake: { dialect: "chat", base_url: upstream.url, api_key: "${UPSTREAM_KEY}", retries: 0 },
    },
    // With a "*" the gateway does not ask the upstream for its list of models.
    models: { m: "fake/m", "*": "fake/m" },
    recording: { content },
  };
  return terminal.write("patchbay.yaml", JSON.stringify(config));
}

const ask = ({ url }: OpenedGateway, id: string): Promise<Response> =>
  fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${canaries.client}`,
      "x-request-id": id,
    },
    body: JSON.stringify({
      model: "m",
      stream: true,
      messages: [{ role: "user", content: `Keys: ${Object.values(canaries).join(" and ")}` }],
      tools: [{ type: "function", function: { name: "look", parameters: { type: "object" } } }],
    }),
  });

/** Says back what it was asked, and calls with it. */
const echo: Model = ({ body, headers }) => {
  const text = `${String(body["messages"][0].content)} ${String(headers.authorization)}`;
  const input = JSON.stringify({ text });
  return answerInChat(body, { text, calls: [{ id: "call_1", name: "look", arguments: input }] });
};

/** Starts `patchbay record`, whose output can be waited for. */
function recording(terminal: Terminal, ...options: string[]) {
  const child = terminal.start(["record", ...options]);
  let [out, errors] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (piece: string) => (out += piece));
  child.stderr.setEncoding("utf8").on("data", (piece: string) => (errors += piece));
  const over = once(child, "close").then(([code]) => code as number | null);
  return {
    child,
    over,
    output: () => ({ out, errors }),
    until: (text: string) => until(() => errors.includes(text)),
  };
}

/** Runs `patchbay record` while something is done, as if somebody pressed Ctrl-C behind it. */
async function whileRecording(
  terminal: Terminal,
  run: () => Promise<void>,
): Promise<{ readonly code: number | null; readonly errors: string }> {
  const child = terminal.start(["record"]);
  let errors = "";
  const { promise: begun, resolve } = Promise.withResolvers<void>();
  child.stderr.setEncoding("utf8").on("data", (piece: string) => {
    errors += piece;
    if (errors.includes("until this command ends")) resolve();
  });
  const over = once(child, "close") as Promise<[number | null]>;
  await Promise.race([begun, over]);
  await run();
  child.kill("SIGINT");
  const [code] = await over;
  return { code, errors };
}

describe
  .skipIf(process.platform === "win32")
  .concurrent("patchbay record", { timeout: 60_000 }, () => {
    it.each(["masked", "full"] as const)(
      "records the turns of a plain client while it runs, with no key in any file (%s)",
      async (content) => {
        await using upstream = await fakeUpstream(echo);
        await using terminal = openTerminal();
        const gateway = await terminal.open(configured(terminal, upstream, content), environment);
        await (await ask(gateway, "before")).text();
        const { code, errors } = await whileRecording(terminal, async () => {
          expect(await (await ask(gateway, "during")).text()).toContain("[DONE]");
        });
        await (await ask(gateway, "behind")).text();
        expect(errors).toContain(`Recording all turns, content ${content}, to ${terminal.home}`);
        expect(errors).toContain("1 turn recorded in");
        expect(code).toBe(0);
        expect(bundlesIn(terminal)).toEqual([expect.stringContaining("-during.bundle.jsonl")]);
        const secret = [canaries.client, canaries.upstream, canaries.lookalike];
        const hidden = content === "masked" ? Object.values(canaries) : secret;
        const leaks = filesIn(terminal.home).flatMap((file) =>
          hidden
            .filter((one) => readFileSync(file).includes(one))
            .map((one) => `${one} in ${file}`),
        );
        expect(leaks).toEqual([]);
        const [explained, replayed, checked] = await Promise.all([
          terminal.patchbayWith(environment, "explain", "during"),
          terminal.patchbayWith(environment, "replay", "during"),
          terminal.patchbayWith(environment, "bundle", "during", "--check"),
        ]);
        expect(explained).toMatchObject({ code: 0, errors: "" });
        expect(explained.out).toContain("No fault was found on either side.");
        expect(replayed).toEqual({
          code: 0,
          errors: "",
          out: "Turn during replays without a difference.\n",
        });
        expect(checked).toMatchObject({ code: 0, errors: "" });
        expect(checked.out).toContain("No key was found.");
        expect(checked.out).toContain("authorization");
      },
    );

    it("for a time counts turns, ends by itself and says where they are", async () => {
      await using upstream = await fakeUpstream(echo);
      await using terminal = openTerminal();
      const gateway = await terminal.open(configured(terminal, upstream), environment);
      const { child, output, until: seen, over } = recording(terminal, "--for", "6s");
      await seen("Recording all turns");
      await (await ask(gateway, "during")).text();
      await seen("1 turn so far, ");
      expect(await over).toBe(0);
      expect(child.signalCode).toBe(null);
      const { out, errors } = output();
      expect(errors).toMatch(/for 6 s; Ctrl-C ends it earlier\.\n1 turn so far, \d s left\.\n/);
      expect(errors).toContain("1 turn recorded in");
      expect(out.trim().split("\n")).toEqual(bundlesIn(terminal));
      await (await ask(gateway, "behind")).text();
      expect(bundlesIn(terminal)).toHaveLength(1);
    });

    it("for a time can be ended before, and says where the turns are", async () => {
      await using upstream = await fakeUpstream(echo);
      await using terminal = openTerminal();
      const gateway = await terminal.open(configured(terminal, upstream), environment);
      const { child, output, until: seen, over } = recording(terminal, "--for", "1h");
      await seen("Recording all turns");
      await (await ask(gateway, "one")).text();
      await (await ask(gateway, "two")).text();
      child.kill("SIGINT");
      expect(await over).toBe(0);
      const { out, errors } = output();
      expect(errors).toContain("2 turns recorded in");
      expect(out.trim().split("\n").toSorted()).toEqual(bundlesIn(terminal));
      await (await ask(gateway, "behind")).text();
      expect(bundlesIn(terminal)).toHaveLength(2);
    });

    it("says that a gateway which was killed has gone, and what is cut off is told as such", async () => {
      const { promise: never } = Promise.withResolvers<void>();
      const half: Model = (request, at) =>
        at === 0
          ? echo(request, at)
          : sse(frame({ choices: [{ index: 0, delta: { content: "Half an" } }] }), never);
      await using upstream = await fakeUpstream(half);
      await using terminal = openTerminal();
      const gateway = await terminal.serve(
        ["--config", configured(terminal, upstream)],
        environment,
      );
      const { code, errors } = await whileRecording(terminal, async () => {
        await (await ask(gateway, "whole")).text();
        await until(() => bundlesIn(terminal).some((file) => isSealed(file)));
        const answer = await ask(gateway, "half");
        await answer.body?.getReader().read();
        await gateway.stop("SIGKILL");
      });
      expect(code).toBe(3);
      expect(errors).toContain(
        "The gateway has stopped, and the turns that were running are lost.",
      );
      expect(bundlesIn(terminal)).toEqual([expect.stringContaining("-whole.bundle.jsonl")]);
      const [whole, lost] = await Promise.all([
        terminal.patchbay("explain", "whole"),
        terminal.patchbay("explain", "half"),
      ]);
      expect(whole).toMatchObject({ code: 0, errors: "" });
      expect(lost).toMatchObject({ code: 2, out: "" });
      expect(lost.errors).toContain("no turn with this id in");
      // As a gateway leaves one that is killed while it writes.
      const [file = ""] = bundlesIn(terminal);
      truncateSync(file, statSync(file).size - 20);
      const cut =
        /^The bundle is cut off or damaged in line \d+; copy the whole file again, or record the turn again\.\n$/;
      const outputs = await Promise.all([
        terminal.patchbay("explain", "whole"),
        terminal.patchbay("replay", "whole", "--json"),
        terminal.patchbay("bundle", "whole", "--check"),
      ]);
      for (const { code, out, errors } of outputs) {
        expect({ code, out }).toEqual({ code: 2, out: "" });
        expect(errors).toMatch(cut);
      }
    });
  });
