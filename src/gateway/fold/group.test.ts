import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { groupTools } from "./group.ts";

const keysOf = (...names: string[]) =>
  groupTools(names.map((name) => ({ name }))).map(
    ({ key, members }) => `${key}: ${members.map(({ name }) => name).join(" ")}`,
  );

describe("grouping a flat list of tools", () => {
  it("goes by namespace, then by the prefix of an MCP server, then by the first word", () => {
    const tools = [
      { name: "create", namespace: "mcp__tickets__" },
      { name: "mcp__wiki__search" },
      { name: "files_read" },
      { name: "list", namespace: "mcp__tickets__" },
      { name: "crm__find" },
      { name: "filesWrite" },
      { name: "files.list" },
      { name: "mcp__wiki__get" },
      { name: "shout" },
    ];
    const lines = groupTools(tools).map(({ key, members }) => [key, members.length]);
    expect(lines).toEqual([
      ["tickets", 2],
      ["wiki", 2],
      ["files", 3],
      ["crm", 1],
      ["other", 1],
    ]);
  });

  it("splits a large group by the next word, and what is left by number", () => {
    const issues = Array.from({ length: 5 }, (_, at) => `mcp__hub__issue_${at}`);
    const pulls = Array.from({ length: 5 }, (_, at) => `mcp__hub__pull_${at}`);
    expect(keysOf(...issues, ...pulls, "mcp__hub__login")).toEqual([
      `hub_issue: ${issues.join(" ")}`,
      `hub_pull: ${pulls.join(" ")}`,
      "hub: mcp__hub__login",
    ]);
    const many = Array.from({ length: 20 }, (_, at) => `tool_${at}`);
    expect(groupTools(many.map((name) => ({ name }))).map(({ key }) => key)).toEqual([
      "tool_1",
      "tool_2",
      "tool_3",
    ]);
  });

  it("makes keys of any name", () => {
    expect(keysOf("__a", "über__x", "über__y", "!!!").map((line) => line.split(":")[0])).toEqual([
      "other",
      "ber",
    ]);
  });

  it("holds every tool once, in groups of eight at most whose keys differ, the same each time", () => {
    const names = fc.uniqueArray(
      fc.oneof(fc.string(), fc.stringMatching(/^[a-c]{1,2}_?[a-c_]{0,6}$/)),
      {
        maxLength: 60,
      },
    );
    fc.assert(
      fc.property(names, (list) => {
        const tools = list.map((name) => ({ name }));
        const groups = groupTools(tools);
        expect(groups).toEqual(groupTools(tools));
        const grouped = groups.flatMap(({ members }) => members.map(({ name }) => name));
        expect(grouped.toSorted()).toEqual(list.toSorted());
        expect(new Set(groups.map(({ key }) => key)).size).toBe(groups.length);
        for (const { key, members } of groups) {
          expect(key).toMatch(/^[a-z0-9][a-z0-9_-]{0,63}$/);
          expect(members.length).toBeLessThanOrEqual(8);
        }
      }),
    );
  });
});
