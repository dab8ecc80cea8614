import { describe, expect, it } from "vitest";
import { named } from "../../test/agent/library.ts";
import { agent } from "./agent.ts";
import { catalogOf, section } from "./catalog.ts";
import { tool } from "./tool.ts";

const plain = { title: "A", body: "a" };

describe("a definition is refused", () => {
  it("where a key has a dot, which would be taken for a path", () => {
    expect(() => section("api.v1", plain)).toThrow('The section key "api.v1"');
  });

  it("where a section can be closed and has no summary", () => {
    expect(() => section("a", { ...plain, open: () => false })).toThrow("no summary");
  });

  it("where two sections have one path", () => {
    expect(() => catalogOf([section("a", plain), section("a", plain)])).toThrow(
      "Two sections have the path `a`",
    );
  });

  it("where two tools have one name, in closed sections too", () => {
    const twice = [
      section("a", { ...plain, summary: "a", tools: [named("x")] }),
      section("b", { ...plain, summary: "b", tools: [named("x")] }),
    ];
    expect(() => catalogOf(twice)).toThrow("The tool `x` is in both `a` and `b`");
  });

  it("where a tool has the name of a loader", () => {
    const sections = [section("a", { ...plain, tools: [named("read_section")] })];
    expect(() => agent({ name: "x", sections })).toThrow(
      "`read_section` in section `a` is reserved",
    );
  });

  it("where a text names a parameter that the agent does not have", () => {
    const sections = [section("a", { ...plain, summary: "About {{topic}}." })];
    expect(() => agent({ name: "x", sections })).toThrow(
      "The summary of section `a` names the parameter `topic`",
    );
  });

  it("where a tool has a name that no provider takes", () => {
    expect(() => tool({ name: "a b", description: "" })).toThrow('The tool name "a b"');
  });
});

it("finds every section by its path, and its tools by their names", () => {
  const child = section("c", { ...plain, tools: [named("x")] });
  const catalog = catalogOf([section("a", plain), section("b", { ...plain, children: [child] })]);
  expect([...catalog.byPath.keys()]).toEqual(["a", "b", "b.c"]);
  expect(catalog.owners.get("x")).toMatchObject({
    path: "b.c",
    number: "2.1",
    lineage: [{ path: "b" }, { path: "b.c" }],
  });
});
