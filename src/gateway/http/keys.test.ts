import { describe, expect, it } from "vitest";
import { nodeRuntime } from "../../host/platform/node.ts";
import { authorize, keyring } from "./admission.ts";
import { checkConfig, parseConfig } from "../config.ts";

const problemsOf = (...keys: unknown[]): string[] => {
  const checked = checkConfig({ server: { keys } });
  if (checked.ok) return [];
  return checked.problems.map(({ path, message }) => `${path.join(".")}: ${message}`);
};

describe("server.keys", () => {
  it("are keys with a name, or bare ones, and parse again to themselves", () => {
    const config = parseConfig({ server: { keys: ["bare", { name: "ann.b_c-1", key: "k" }] } });
    expect(config.server.keys).toEqual(["bare", { name: "ann.b_c-1", key: "k" }]);
    expect(parseConfig(config)).toEqual(config);
  });

  it("are not given where they are empty, with a name too", () => {
    const keys = ["", null, { name: "ann", key: "" }, { name: "bob", key: null }];
    expect(parseConfig({ server: { keys } }).server.keys).toEqual([]);
  });

  it("have names that can be told, stored and logged", () => {
    const characters =
      "must begin with a letter or a digit and hold only letters, digits, `.`, `_` and `-`, at most 64; choose another name";
    expect(problemsOf({ name: "", key: "k" })).toEqual([
      "server.keys.0.name: is empty; give it a value or leave the key out",
    ]);
    for (const name of ["a b", "-a", "ä", "a/b", "a\n", "__proto__", "a".repeat(65)])
      expect(problemsOf("bare", { name, key: "k" })).toEqual([`server.keys.1.name: ${characters}`]);
  });

  it("are told what they lack, and in which key", () => {
    expect(problemsOf({ key: "k" })).toEqual(["server.keys.0.name: is missing; it must be text"]);
    expect(problemsOf({ name: "a", kye: "k" })).toEqual([
      "server.keys.0.key: is missing; it must be text",
      "server.keys.0.kye: is not a known key; did you mean `key`?",
    ]);
    expect(problemsOf(7)).toEqual(["server.keys.0: must be a key as text, or `{ name, key }`"]);
  });

  it("are listed once each, and a problem does not quote them", () => {
    const message = "is the same key as `server.keys[0]`; list a key once, under one name";
    expect(problemsOf("s3cret", "s3cret")).toEqual([`server.keys.1: ${message}`]);
    expect(problemsOf({ name: "a", key: "s3cret" }, "other", { name: "b", key: "s3cret" })).toEqual(
      [`server.keys.2.key: ${message}`],
    );
    expect(problemsOf("", "", null, null)).toEqual([]);
  });
});

describe("the tenant of a request", () => {
  const tenantOf = (key: string, keys: Parameters<typeof keyring>[0]): string =>
    authorize({ headers: { "x-api-key": key } }, keyring(keys, nodeRuntime.sha256));

  it("is the name of its key, also where two keys share it", () => {
    const keys = [
      { name: "ann", key: "old" },
      { name: "ann", key: "new" },
      { name: "bob", key: "bobs" },
    ];
    expect(["old", "new", "bobs"].map((key) => tenantOf(key, keys))).toEqual(["ann", "ann", "bob"]);
  });

  it("is named by the digest of a bare key, and never by the key", () => {
    expect(tenantOf("foo", ["bar", "foo"])).toBe("key-2c26b46b68ff");
  });

  it("is `local` where there are no keys", () => {
    expect(tenantOf("anything", [])).toBe("local");
  });
});
