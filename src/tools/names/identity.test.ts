import { describe, expect, it } from "vitest";
import { clientName, upstreamName } from "../../turn/names.ts";
import { ToolIdentityMap, type Bound } from "./identity.ts";

const bind = (client: string, upstream: string, namespace?: string, kind = "function"): Bound =>
  ({
    client: { kind, namespace, name: clientName(client) },
    upstream: { kind: "function", name: upstreamName(upstream) },
  }) as Bound;

describe("ToolIdentityMap", () => {
  it("finds a tool by either name", () => {
    const map = new ToolIdentityMap([bind("status", "git__status", "git"), bind("look", "look")]);
    const found = map.byAlias({ kind: "function", name: upstreamName("git__status") });
    expect(found?.client).toEqual({ kind: "function", namespace: "git", name: "status" });
    expect(map.byIdentity({ kind: "function", namespace: "git", name: clientName("status") })).toBe(
      found,
    );
    expect(map.byName("status", "git")).toBe(found);
    expect(map.byName("status")).toBeUndefined();
  });

  it("refuses two tools under one upstream name, and names both", () => {
    expect(
      () =>
        new ToolIdentityMap([bind("files.read", "files_read"), bind("files_read", "files_read")]),
    ).toThrow("`files.read` and `files_read` both become `files_read`; rename one of them.");
  });

  it("knows a tool that is declared twice by the first of both", () => {
    const map = new ToolIdentityMap([
      bind("shell", "shell", undefined, "shell"),
      bind("shell", "shell_2", undefined, "shell"),
    ]);
    expect(map.byName("shell")?.upstream.name).toBe("shell");
    expect(map.byAlias({ kind: "function", name: upstreamName("shell_2") })).toBeDefined();
  });

  it("does not mistake a namespace and a name for another pair that reads the same", () => {
    const map = new ToolIdentityMap([
      bind("bc", "x", "a"),
      bind("c", "y", "ab"),
      bind("1|abc", "z"),
    ]);
    expect(map.byName("bc", "a")?.upstream.name).toBe("x");
    expect(map.byName("c", "ab")?.upstream.name).toBe("y");
    expect(map.byName("1|abc")?.upstream.name).toBe("z");
  });

  it("knows a tool by what models write, unless two could be meant", () => {
    const map = new ToolIdentityMap([
      bind("status", "git__status", "git"),
      bind("status", "hg__status", "hg"),
    ]);
    expect(map.byNickname("git.status")?.client.namespace).toBe("git");
    expect(map.byNickname("functions.hg__status")?.client.namespace).toBe("hg");
    expect(map.byNickname("status")).toBeUndefined();
  });

  it("knows a tool by a name like its own, unless two could be meant", () => {
    const map = new ToolIdentityMap([
      bind("status", "git__status", "git"),
      bind("Read", "Read"),
      bind("read", "read"),
      bind("apply_patch", "apply_patch"),
      bind("!!", "tool_1"),
    ]);
    for (const name of ["git-status", "git::status", "GIT__STATUS", "Git.Status", "git_status"])
      expect(map.byLikeness(name)?.client.name).toBe("status");
    expect(map.byLikeness("Apply-Patch ")?.client.name).toBe("apply_patch");
    expect(map.byLikeness("READ")).toBeUndefined();
    expect(map.byLikeness("applypatch")).toBeUndefined();
    expect(map.byLikeness("??")).toBeUndefined();
  });
});
