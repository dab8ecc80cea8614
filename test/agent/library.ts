import { section, type Section } from "../../src/agent/catalog.ts";
import type { Tool } from "../../src/agent/tool.ts";

/** A tool that only has a name; `run` answers with it. */
export const named = (name: string): Tool => ({
  name,
  description: `Does ${name}.`,
  schema: {
    type: "object",
    properties: { text: { type: "string" } },
    required: ["text"],
    additionalProperties: false,
  },
  run: ({ text }: { readonly text: string }) => `${name} did ${text}`,
});

/** The same for whoever runs tools elsewhere, as clients of a gateway do. */
export const foreign = (name: string): Tool => {
  const { run: _, ...rest } = named(name);
  return rest;
};

/**
 * A prompt with all that matters: an open section, a closed one with tools and
 * a closed child, one that is closed and has only text, one for some only.
 */
export const sections: readonly Section[] = [
  section("task", { title: "Task", body: "Answer the question.", tools: [named("note")] }),
  section("archive", {
    title: "Archive",
    summary: "Search and cite the archive.",
    body: "Cite every claim.",
    tools: [named("search"), named("cite")],
    children: [
      section("rules", { title: "Rules", body: "Primary sources first." }),
      section("export", {
        title: "Export",
        summary: "Export what was found.",
        body: "Only on request.",
        tools: [named("to_csv")],
      }),
    ],
  }),
  section("style", { title: "Style", summary: "How to write.", body: "Write plainly." }),
  section("admin", {
    title: "Admin",
    summary: "Administration of users.",
    body: "Ban with care.",
    tools: [named("ban")],
    when: ({ params }) => params["isAdmin"] === true,
    children: [section("log", { title: "Log", body: "All bans.", tools: [named("bans")] })],
  }),
];
