import { expect, it } from "vitest";
import { reasonOf, reasonWords } from "./failure-reason.ts";
import { Fault, type UpstreamWords } from "./fault.ts";

const reason = (said: UpstreamWords) =>
  reasonOf(
    new Fault("upstream.refused", `Upstream \`u\` refused: ${said.message}. Change it.`, { said }),
  );

it("has the upstream's code and type, and its sentence between what happened and the remedy", () => {
  expect(reason({ message: "Too hot", code: "too_hot", type: "invalid" })).toEqual({
    code: "too_hot",
    type: "invalid",
    message: "Upstream `u` refused: Too hot. Change it.",
  });
});

it("has 300 characters of a sentence at most", () => {
  expect(reason({ message: "x".repeat(301) }).message).toBe(
    `Upstream \`u\` refused: ${"x".repeat(300)}…. Change it.`,
  );
});

it.each([
  ["sk-0123456789abcdefXYZ", "[redacted]"],
  ["sk-proj-****************wxyz", "[redacted]"],
  ["Bearer abcdefghijklmnop", "[redacted]"],
  [
    "https://ann:secret@example.com/?api_key=abc",
    "https://[redacted]@example.com/?api_key=[redacted]",
  ],
])("shows %s as %s", (key, shown) => {
  expect(reason({ message: `${key} is bad` }).message).toContain(`refused: ${shown} is bad.`);
});

it("takes no sentence and no key for a code", () => {
  expect(reason({ code: "Bad prompt: hello", type: "sk-0123456789abcdefXYZ" })).toMatchObject({
    code: undefined,
    type: undefined,
  });
});

it("names code and type once each", () => {
  expect(reasonWords({ code: "a", type: "b" })).toBe("a, b");
  expect(reasonWords({ code: "a", type: "a" })).toBe("a");
  expect(reasonWords()).toBe("");
});
