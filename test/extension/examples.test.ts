import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const folder = fileURLToPath(new URL("../../examples/", import.meta.url));

it.each([
  ["own-upstream", "own upstream: a call and a text, at both doors"],
  ["redacting-stage", "redacting stage: no key came through, however the answer was cut"],
  ["own-profile", "own profile: the plan goes by it, and by the model"],
])("the example %s runs, and finds what it asserts", async (name, last) => {
  const { stdout } = await promisify(execFile)(process.execPath, [`${folder}${name}.ts`]);
  expect(stdout.trim()).toBe(last);
});
