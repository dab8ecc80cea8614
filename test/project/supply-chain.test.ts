import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

type Locked = {
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly peer?: boolean;
  readonly license?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly hasInstallScript?: boolean;
};

const read = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const lock = JSON.parse(read("package-lock.json")) as { packages: Record<string, Locked> };
const packages = Object.entries(lock.packages).filter(([path]) => path !== "");

it("every locked package has a digest and no address", () => {
  const loose = packages.filter(
    ([, { integrity = "", resolved }]) =>
      !integrity.startsWith("sha512-") || resolved !== undefined,
  );
  expect(loose.map(([path]) => path)).toEqual([]);
});

it("the licences of what users install are listed", () => {
  const installed = packages
    .filter(([, { dev, devOptional, peer }]) => !(dev ?? devOptional ?? peer ?? false))
    .map(([path, { license }]) => `| ${path.replace("node_modules/", "")} | ${license} |`);
  const page = read("docs/internals/supply-chain.md");
  const listed = page
    .split("\n")
    .filter((line) => /^\| [@\w]/.test(line) && !line.includes("licence |"));
  expect(listed.map((line) => line.replaceAll(/\s+/g, " ")).toSorted()).toEqual(
    installed.toSorted(),
  );
});

it("nothing that users install runs a script, and few other packages do", () => {
  const running = packages.filter(([, { hasInstallScript }]) => hasInstallScript === true);
  expect(running.every(([, { dev }]) => dev === true)).toBe(true);
  expect(running.map(([path]) => path.replace("node_modules/", "")).toSorted()).toEqual([
    "@anthropic-ai/claude-code",
    "@github/keytar",
    "node",
    "node-pty",
    "protobufjs",
  ]);
});

it("a release is published with provenance, from what the lock file says", () => {
  const script = read("scripts/release.sh");
  for (const step of ["npm ci", "npm audit", "npm run check", "npm publish --provenance"])
    expect(script).toContain(step);
});
