import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

type Locked = { readonly optionalDependencies?: Readonly<Record<string, string>> };

const lock = JSON.parse(
  readFileSync(new URL("../../package-lock.json", import.meta.url), "utf8"),
) as {
  readonly packages: Readonly<Record<string, Locked>>;
};

// A package with native parts names one package per platform. Left out of the
// lock file, `npm ci` refuses it, or installs nothing on that platform.
it("locks every package's parts for every platform", () => {
  const missing = Object.entries(lock.packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (name) =>
        !(`node_modules/${name}` in lock.packages) &&
        !(`${path}/node_modules/${name}` in lock.packages),
    ),
  );
  expect(missing).toEqual([]);
});
