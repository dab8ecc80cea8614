import { describe, expect, it } from "vitest";
import { named, sections } from "../../test/agent/library.ts";
import type { Fields } from "../turn/turn.ts";
import {
  catalogOf,
  type Reading,
  readCatalog,
  render,
  stateOf,
  section,
  type Section,
} from "./catalog.ts";
import { Session, type SessionEvent } from "./session.ts";

const openedAt = (path: string): SessionEvent => ({
  type: "visibility-set",
  path,
  visibility: "full",
  by: "model",
  timestamp: 0,
});

function scene(
  given: readonly Section[] = sections,
  open: readonly string[] = [],
  params: Fields = {},
) {
  const catalog = catalogOf(given);
  const session = new Session(open.map(openedAt));
  const state = stateOf({ params, session }, session.overrides);
  return {
    view: render(catalog, state, "read_section"),
    read: (key: string): Reading => readCatalog(catalog, key, state, "read_section"),
  };
}

const toolsOf = (reading: Reading): readonly string[] =>
  reading.type === "unknown" ? [] : reading.result.expandedTools.map(({ name }) => name);
const contentOf = (reading: Reading): string =>
  reading.type === "unknown" ? reading.message : reading.result.content;

describe("a prompt", () => {
  it("shows closed sections by their summaries and how to read them", () => {
    expect(scene().view.text).toBe(`## 1. Task

Answer the question.

## 2. Archive

Search and cite the archive.

---
[This section is summarized. To view full content, call \`read_section\` with key "archive".]

## 3. Style

How to write.

---
[This section is summarized. To view full content, call \`read_section\` with key "style".]`);
  });

  it("has the tools of open sections alone", () => {
    expect(scene().view.tools.map(({ name }) => name)).toEqual(["note"]);
    expect(scene(sections, ["archive"]).view.tools.map(({ name }) => name)).toEqual([
      "note",
      "search",
      "cite",
    ]);
  });

  it("leaves each child of an open section to itself", () => {
    const { text, summarized } = scene(sections, ["archive"]).view;
    expect(text).toContain("### 2.1. Rules\n\nPrimary sources first.");
    expect(summarized).toEqual(["archive.export", "style"]);
  });

  it("shows nothing below a closed section, though it was opened once", () => {
    expect(scene(sections, ["archive.export"]).view.text).not.toContain("Only on request.");
  });

  it("does not have what is not for this scope", () => {
    expect(scene().view.text).not.toContain("Admin");
    expect(scene(sections, [], { isAdmin: true }).view.summarized).toContain("admin");
  });

  it("is written from its parameters, in texts and summaries", () => {
    const bound = [
      section("a", { title: "A", body: "About {{topic}}, {{ limit }} at most." }),
      section("b", {
        title: "B",
        body: "",
        summary: ({ params }) => `On ${String(params["topic"])}.`,
      }),
    ];
    const { text } = scene(bound, [], { topic: "bees", limit: 3 }).view;
    expect(text).toContain("About bees, 3 at most.");
    expect(text).toContain("On bees.");
  });
});

describe("reading a section", () => {
  it("gives its text and the tools that it makes callable", () => {
    const reading = scene().read("archive");
    expect(reading).toMatchObject({ type: "opened", path: "archive", opens: ["archive"] });
    expect(contentOf(reading)).toContain("## 2. Archive\n\nCite every claim.");
    expect(toolsOf(reading)).toEqual(["search", "cite"]);
  });

  it("gives no tools and no text of a child that stays closed", () => {
    const content = contentOf(scene().read("archive"));
    expect(content).toContain('with key "archive.export".]');
    expect(content).not.toContain("Only on request.");
  });

  it("shows children that take no parameters", () => {
    expect(contentOf(scene().read("archive"))).toContain("Primary sources first.");
  });

  it("opens what is above a section with it", () => {
    const reading = scene().read("archive.export");
    expect(reading).toMatchObject({ type: "opened", opens: ["archive", "archive.export"] });
    expect(contentOf(reading)).toContain("Cite every claim.");
    expect(toolsOf(reading)).toEqual(["search", "cite", "to_csv"]);
  });

  it("reaches an open child of a closed section", () => {
    expect(scene().read("archive.rules")).toMatchObject({ type: "opened", opens: ["archive"] });
  });

  it("reaches a child that was opened while the section above it stayed closed", () => {
    expect(scene(sections, ["archive.export"]).read("archive.export")).toMatchObject({
      type: "opened",
      opens: ["archive"],
    });
  });

  it("gives the same text and no tools where it is open already", () => {
    const reading = scene(sections, ["archive"]).read("archive");
    expect(reading).toMatchObject({ type: "already" });
    expect(contentOf(reading)).toBe(contentOf(scene().read("archive")));
    expect(toolsOf(reading)).toEqual([]);
  });

  it("does not know what is not for this scope, nor anything below it", () => {
    expect(scene().read("admin")).toMatchObject({ type: "unknown" });
    expect(scene().read("admin.log")).toMatchObject({ type: "unknown" });
    expect(contentOf(scene().read("admi"))).not.toContain("admin");
  });

  it("names what was meant by the last part of a key, or by its letters", () => {
    expect(contentOf(scene().read("export"))).toBe(
      "Unknown section key: 'export'. Did you mean \"archive.export\"?",
    );
    expect(contentOf(scene().read("archiv"))).toContain('Did you mean "archive"?');
  });

  it("names all that can be read where nothing is alike", () => {
    expect(contentOf(scene().read("weather"))).toBe(
      'Unknown section key: \'weather\'. Sections that can be read: "archive", "archive.export", "style".',
    );
  });

  it("stops before the next section", () => {
    expect(contentOf(scene().read("archive"))).not.toContain("Style");
  });

  it("says nothing of the tools of a closed section", () => {
    const closed = [
      section("a", { title: "A", body: "", summary: "s", tools: [named("hidden_tool")] }),
    ];
    expect(scene(closed).view.text).not.toContain("hidden_tool");
  });
});
