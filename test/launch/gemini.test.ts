import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { missing } from "../gemini-cli/gemini-cli.ts";
import { answerInChat } from "../support/fake-model.ts";
import { fakeUpstream, json } from "../support/fake-upstream.ts";
import { loopback } from "../support/loopback.ts";
import { serve } from "../support/serve.ts";
import { type Home, homeFolder, launch, launching, prepare, programs, running } from "./home.ts";

/** Settings, a login and variables that lead elsewhere, and what users add. */
const own: Readonly<Record<string, string>> = {
  ".gemini/settings.json": `{\n  // mine\n  "security": {"auth": {"selectedType": "oauth-personal"}},\n  "model": {"name": "gemini-9"}\n}\n`,
  ".gemini/oauth_creds.json": `{"access_token":"mine"}`,
  ".gemini/google_accounts.json": `{"active":"me@example.com"}`,
  ".gemini/installation_id": "mine",
  ".gemini/projects.json": `{"projects":{}}`,
  ".gemini/tmp/other/chats/session-1.jsonl": "{}",
  ".gemini/GEMINI.md": "Always say PINEAPPLE.",
  ".gemini/commands/greet.toml": `prompt = "Say hello, as COMMANDED"`,
  ".gemini/skills/lab/SKILL.md": "---\nname: lab\ndescription: The skill SKILLED.\n---\n",
  ".gemini/extensions/ext/gemini-extension.json": `{"name":"ext","version":"1.0.0","contextFileName":"EXT.md"}`,
  ".gemini/extensions/ext/EXT.md": "EXTENDED",
  ".env": "GOOGLE_GENAI_USE_VERTEXAI=true\nGEMINI_MODEL=gemini-9\nGEMINI_API_KEY=mine\n",
};

type GeminiHome = Home & {
  /** The digest of every file that the user has. */
  digests(): Readonly<Record<string, string>>;
};

function geminiHome(): GeminiHome {
  const home = homeFolder();
  for (const [name, text] of Object.entries(own)) home.write(name, text);
  Object.assign(home.env, {
    GEMINI_CLI_TRUST_WORKSPACE: "true",
    // The program starts itself again to set a limit of memory.
    GEMINI_CLI_NO_RELAUNCH: "true",
  });
  const digest = (name: string): string =>
    createHash("sha256")
      .update(readFileSync(join(home.path, name)))
      .digest("hex");
  const names = (): string[] =>
    [".gemini/**", ".env"]
      .flatMap((pattern) => globSync(pattern, { cwd: home.path }))
      .filter((name) => statSync(join(home.path, name)).isFile());
  return {
    ...home,
    digests: () => Object.fromEntries(names().map((name) => [name, digest(name)])),
  };
}

/** Ends only by force. */
const idle = `setInterval(() => {}, 1000); console.log(process.pid)`;

describe("a launch of Gemini CLI that is ended by force", () => {
  it("leaves the user's files as they are, and its folder to the next launch", async () => {
    using home = geminiHome();
    const before = home.digests();
    home.program("gemini", idle);
    const { child, ended } = launching(home, ["gemini"]);
    const [pid] = (await once(child.stdout, "data")) as [Buffer];
    child.kill("SIGKILL");
    process.kill(Number(String(pid)), "SIGKILL");
    await ended;
    expect(home.left()).toHaveLength(1);
    home.program("gemini", "");
    expect((await launch(home, "gemini")).code).toBe(0);
    expect(home.left()).toEqual([]);
    expect(home.digests()).toEqual(before);
  });
});

describe("a project whose settings select another sign-in", () => {
  it("is named before anything starts, with the remedy", async () => {
    using home = geminiHome();
    const file = "work/.gemini/settings.json";
    home.write(file, `{"security":{"auth":{"selectedType":"oauth-personal"}}}`);
    home.program("gemini", "process.exit(9)");
    const { code, errors } = await prepare(home, "gemini");
    expect(code).toBe(1);
    expect(errors).toContain(`${join(home.path, file)} sets \`security.auth.selectedType\``);
    expect(errors).toContain("Remove the setting from this file");
    expect(home.left()).toEqual([]);
  });
});

describe("a model that Gemini CLI asks for by itself", () => {
  /** Asks for models at Gemini's own path, and prints which model answered. */
  const asking = `
const ask = async (model) => {
  const url = process.env.GOOGLE_GEMINI_BASE_URL + "/v1beta/models/" + model + ":generateContent";
  const headers = { "content-type": "application/json", "x-goog-api-key": process.env.GEMINI_API_KEY };
  const body = JSON.stringify({ contents: [{ role: "user", parts: [{ text: "Hi" }] }] });
  return (await fetch(url, { method: "POST", headers, body })).status + " " + model;
};
const names = ["gemini-3-flash-preview", "gemini-3.5-flash-lite", "gemini-named", "claude-9"];
Promise.all(names.map(ask)).then((said) => console.log(said.join("\\n")));
`;

  it("is answered by the chosen ones; other names follow the configuration", async () => {
    using home = geminiHome();
    await using upstream = await fakeUpstream(({ body, path }) =>
      path.endsWith("/models")
        ? json({ data: [{ id: "big" }, { id: "little" }] })
        : answerInChat(body, { text: "Hello." }),
    );
    const place = { dialect: "chat", base_url: upstream.url };
    const config = { upstreams: { a: place, b: place }, models: { "gemini-named": "b/named" } };
    home.write("two.json", JSON.stringify(config));
    home.program("gemini", asking);
    const file = join(home.path, "two.json");
    const args = ["--config", file, "-m", "a/big", "--small", "b/little"];
    const { out } = await launch(home, "gemini", ...args);
    expect(out.trim().split("\n")).toEqual([
      "200 gemini-3-flash-preview",
      "200 gemini-3.5-flash-lite",
      "200 gemini-named",
      "404 claude-9",
    ]);
    const [, ...asked] = upstream.requests
      .filter(({ method }) => method === "POST")
      .map(({ body }) => body["model"] as string);
    expect(asked.toSorted()).toEqual(["big", "little", "named"]);
  });
});

describe.skipIf(missing)("Gemini CLI whose own settings name another place", () => {
  it.concurrent("answers from the gateway, and its files stay as they are", async () => {
    using home = geminiHome();
    const before = home.digests();
    await using proxy = await loopback((_, response) => response.writeHead(502).end());
    Object.assign(home.env, { HTTPS_PROXY: proxy.url, HTTP_PROXY: proxy.url });
    await using upstream = await fakeUpstream(({ body, path }) =>
      path.endsWith("/models")
        ? json({ data: [{ id: "m" }] })
        : answerInChat(body, { text: "Hello from the model." }),
    );
    home.write(
      "one.json",
      JSON.stringify({ upstreams: { a: { dialect: "chat", base_url: upstream.url } } }),
    );
    const args = ["--config", join(home.path, "one.json"), "--", "-p", "/greet"];
    const { code, out, errors } = await launch(home, "gemini", ...args);
    expect({ code, errors }).toMatchObject({ code: 0 });
    expect(out).toContain("Hello from the model.");
    expect(errors).toMatch(/1 turn, .*To continue: patchbay launch gemini -- --resume/);
    const asked = upstream.requests.at(-1)?.text ?? "";
    for (const word of ["PINEAPPLE", "COMMANDED", "SKILLED", "EXTENDED"])
      expect(asked).toContain(word);
    expect(home.digests()).toEqual(before);
    expect(home.left()).toEqual([]);
    const kept = join(home.path, "state", "patchbay", "agents", "gemini", "tmp");
    expect(globSync("work/chats/*", { cwd: kept })).toHaveLength(1);
  });

  it.concurrent("goes there by itself while its settings are kept, and they are put back", async () => {
    using home = geminiHome();
    home.write(".gemini/.env", "# mine\nGEMINI_API_KEY=mine\n");
    const before = home.digests();
    await using served = await serve({});
    expect((await prepare(home, "gemini", "--keep", "--url", served.url)).code).toBe(0);
    const command = [join(programs, "gemini"), "-p", "Say hello"];
    const { code, out, errors } = await running(home, command).ended;
    expect({ code, errors }).toMatchObject({ code: 0 });
    expect(out).toContain("Patchbay's built-in demo model");
    const restored = await prepare(home, "gemini", "--restore");
    expect(restored.out.match(/byte for byte/g)).toHaveLength(2);
    const now = home.digests();
    expect(Object.keys(before).filter((name) => now[name] !== before[name])).toEqual([
      // Gemini CLI lists the folders that it was used in.
      join(".gemini", "projects.json"),
    ]);
    expect(existsSync(join(home.path, ".gemini", "history"))).toBe(true);
  });
});
