import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmod,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compileCache } from "../support/compile-cache.ts";
import { inLanguage, moduleOf, root } from "./blocks.ts";
import { missingTargets } from "./links.ts";

const run = promisify(execFile);
const parts = [
  "package.json",
  "tsconfig.json",
  "tsconfig.build.json",
  "src",
  "cli",
  "docs",
  "scripts/trim-declarations.ts",
  "README.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
];

/** The limits of docs/decisions/0026-the-package.md. */
const MOST_BYTES = 800_000;
const MOST_PACKAGES = 10;

type Manifest = {
  version: string;
  dependencies: Record<string, string>;
  scripts: Record<string, string>;
  bin: { patchbay: string };
};

let folder = "";
let packedBytes = 0;
let installed = "";
let manifest: Manifest;

/** What a command said when it failed, wherever it said it. */
function tell({ stdout, stderr }: { stdout: string; stderr: string }): never {
  throw new Error(stdout + stderr);
}

/** Packs a copy, so that nothing is built into the working tree, and unpacks it beside its dependencies alone. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "patchbay-package-"));
  const copy = join(folder, "copy");
  await mkdir(copy);
  await Promise.all([
    ...[...parts, "LICENSE"].map((part) =>
      cp(join(root, part), join(copy, part), { recursive: true }),
    ),
    symlink(join(root, "node_modules"), join(copy, "node_modules")),
  ]);
  await run("npm", ["pack", "--pack-destination", folder], { cwd: copy }).catch(tell);
  const tarball = (await readdir(folder)).find((name) => name.endsWith(".tgz"));
  packedBytes = (await stat(join(folder, tarball ?? ""))).size;
  await run("tar", ["-xzf", tarball ?? ""], { cwd: folder });

  installed = join(folder, "elsewhere", "node_modules", "patchbay");
  await mkdir(dirname(installed), { recursive: true });
  await cp(join(folder, "package"), installed, { recursive: true });
  manifest = JSON.parse(await readFile(join(installed, "package.json"), "utf8")) as Manifest;
  for (const name of Object.keys(manifest.dependencies)) {
    const place = join(folder, "elsewhere", "node_modules", name);
    await mkdir(dirname(place), { recursive: true });
    await symlink(join(root, "node_modules", name), place);
  }
  // All of it is compiled, which takes its time on a busy machine.
}, 240_000);
afterAll(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));

const bin = (): string => join(installed, manifest.bin.patchbay);

describe("the package", () => {
  it("holds what is run and described, and neither tests nor sources", async () => {
    const files = await readdir(installed, { recursive: true });
    expect(files).toEqual(expect.arrayContaining(["LICENSE", "README.md", "dist/src/index.d.ts"]));
    expect(files.filter((file) => /\.test\.|(?<!\.d)\.ts$/.test(file))).toEqual([]);
  });

  it("is small, brings few packages, and runs nothing when it is installed", () => {
    expect(packedBytes).toBeLessThan(MOST_BYTES);
    expect(Object.keys(manifest.dependencies).length).toBeLessThanOrEqual(MOST_PACKAGES);
    const loose = Object.values(manifest.dependencies).filter(
      (version) => !/^\d+\.\d+\.\d+$/.test(version),
    );
    expect(loose).toEqual([]);
    expect(Object.keys(manifest.scripts)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^(?:pre|post)?install$|^prepare$/)]),
    );
  });

  it("has no file of another kind than those it is made of", async () => {
    const files = await readdir(installed, { recursive: true, withFileTypes: true });
    const paths = files
      .filter((file) => file.isFile())
      .map((file) => relative(installed, join(file.parentPath, file.name)));
    const known =
      /^(?:package\.json|LICENSE|(?:README|CONTRIBUTING|SECURITY)\.md|dist\/.+\.(?:js|d\.ts)|docs\/(?:[\w-]+\/)*[\w-]+\.md|docs\/picture\.svg|docs\/operations\/.+\.(?:ya?ml|json|conf|service|Containerfile|md))$|\/Containerfile$/;
    expect(paths.filter((path) => !known.test(path))).toEqual([]);
  });

  it("has pages whose links lead to files in it", async () => {
    const files = await readdir(installed, { recursive: true });
    const pages = files.filter((file) => file.endsWith(".md"));
    expect(pages.length).toBeGreaterThan(40);
    expect(pages.flatMap((page) => missingTargets(installed, page))).toEqual([]);
  });

  it("has every declaration that another leads to", async () => {
    const files = await readdir(installed, { recursive: true });
    const there = new Set(files);
    const missing: string[] = [];
    for (const file of files.filter((name) => name.endsWith(".d.ts"))) {
      const text = await readFile(join(installed, file), "utf8");
      for (const [, name = ""] of text.matchAll(/"(\.{1,2}\/[^"]+)\.(?:js|ts)"/g))
        if (!there.has(join(dirname(file), `${name}.d.ts`))) missing.push(`${file}: ${name}`);
    }
    expect(missing).toEqual([]);
    expect(files).toEqual(expect.arrayContaining(["dist/src/core.d.ts", "dist/src/agent.d.ts"]));
  });

  it("has declarations by which the blocks of TypeScript in the pages compile", async () => {
    // There the name of the package leads to what was built.
    const place = join(folder, "copy", "blocks");
    await mkdir(place);
    for (const [at, { page, text }] of inLanguage("ts").entries())
      await writeFile(join(place, `${page.replaceAll(/\W/g, "-")}-${at}.ts`), moduleOf(text));
    const compilerOptions = { noUnusedLocals: false, exactOptionalPropertyTypes: false };
    const config = { extends: "../tsconfig.json", include: ["*.ts"], compilerOptions };
    await writeFile(join(place, "tsconfig.json"), JSON.stringify(config));
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const { stdout } = await run(process.execPath, [tsc, "-p", place], { cwd: root }).catch(
      (error: { stdout: string }) => error,
    );
    expect(stdout).toBe("");
  }, 60_000);

  it("starts wherever there is a Node: BusyBox knows no `env -S`", async () => {
    expect(await readFile(bin(), "utf8")).toMatch(/^#!\/usr\/bin\/env node\n/);
  });

  it("says its version", async () => {
    const { stdout } = await run(process.execPath, [bin(), "--version"]);
    expect(stdout.trim()).toBe(manifest.version);
  });

  it("serves the demo", async () => {
    const env = { ...compileCache, PATH: process.env["PATH"], HOME: folder };
    const child = spawn(process.execPath, [bin(), "serve", "--port", "0"], { cwd: folder, env });
    const [line] = (await once(createInterface(child.stdout), "line")) as [string];
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0] ?? "";
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "demo", messages: [{ role: "user", content: "Hello" }] }),
    });
    expect(await answer.json()).toMatchObject({ object: "chat.completion" });
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  it("refuses a public address without a key", async () => {
    const args = [bin(), "serve", "--host", "0.0.0.0", "--port", "0"];
    const options = {
      cwd: folder,
      env: { ...compileCache, PATH: process.env["PATH"], HOME: folder },
    };
    await expect(run(process.execPath, args, options)).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining("without a key would let every client"),
    });
  });

  it("serves as a user who may write nothing, by a key in a file, and lets a turn end at SIGTERM", async () => {
    const place = join(folder, "read-only");
    await mkdir(place);
    await writeFile(join(place, "key"), "sk-of-a-file\n");
    const script = "[[before, { delay: 300 }, behind]]";
    await writeFile(
      join(place, "patchbay.yaml"),
      `server: { keys: ["\${file:\${CREDENTIALS_DIRECTORY}/key}"] }\nupstreams: { actor: { dialect: scripted, script: ${script} } }\nmodels: { "*": actor/scripted }\n`,
    );
    await chmod(place, 0o555);
    await chmod(folder, 0o755);
    const env = {
      PATH: process.env["PATH"],
      HOME: "/nonexistent",
      TMPDIR: place,
      CREDENTIALS_DIRECTORY: place,
    };
    const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    const child = spawn(
      process.execPath,
      [bin(), "serve", "--port", "0", "--config", "patchbay.yaml"],
      {
        cwd: place,
        env,
        ...nobody,
      },
    );
    const [line] = (await once(createInterface(child.stdout), "line")) as [string];
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0] ?? "";
    await run(process.execPath, [bin(), "health", "--url", url]);
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer sk-of-a-file" },
      body: JSON.stringify({
        model: "m",
        stream: true,
        messages: [{ role: "user", content: "Hi" }],
      }),
    });
    expect(answer.status).toBe(200);
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    expect(await answer.text()).toMatch(/behind[^]*\[DONE\]/);
    expect(await exited).toEqual([0, null]);
    await chmod(place, 0o755);
  });

  it("is a library, with and without Node, a Fastify plugin, and runs agents", async () => {
    const script = join(folder, "elsewhere", "script.js");
    await writeFile(
      script,
      `import { createGateway } from "patchbay";
      import { agent, connect, run as runAgent, section } from "patchbay/agent";
      import { createGateway as createCore } from "patchbay/core";
      import { patchbay } from "patchbay/fastify";
      const gateway = createGateway();
      const core = createCore();
      const coreResponse = await core.fetch(new Request("http://x/v1/models"));
      await core.close(0);
      const response = await gateway.fetch(new Request("http://x/v1/models"));
      await gateway.close(0);
      const upstreams = connect({ upstreams: { actor: { dialect: "scripted", script: [["Hello."]] } } });
      const greeter = agent({ name: "greeter", sections: [section("a", { title: "A", body: "Greet." })] });
      const { output } = await runAgent(greeter, {}, { adapter: upstreams.adapter("actor/any") });
      await upstreams.close();
      console.log(response.status, coreResponse.status, typeof patchbay, output);`,
    );
    await writeFile(join(folder, "elsewhere", "package.json"), '{"type":"module"}');
    const { stdout } = await run(process.execPath, [script]);
    expect(stdout.trim()).toBe("200 200 function Hello.");
  });
});
