import { describe, expect, it } from "vitest";
import { ask, fn, namespace, plain } from "../../../test/support/turns.ts";
import { fullName } from "../../tools/names/identity.ts";
import { clientName } from "../../turn/names.ts";
import type { ToolChoice, ToolRef } from "../../turn/turn.ts";
import { candidatesIn, type Candidates } from "./fold.ts";

const tools = [
  fn("look"),
  namespace("git", [fn("status"), fn("look")]),
  namespace("crm", [fn("get")]),
];
const sorted = (toolChoice: ToolChoice): Candidates =>
  candidatesIn(ask({ tools, toolChoice }), plain, true);
const ref = (name: string, more: Partial<ToolRef> = {}): ToolRef => ({
  kind: "function",
  name: clientName(name),
  ...more,
});

describe("the candidates for folding", () => {
  it.each<[ToolRef, string[]]>([
    [ref("look"), ["look"]],
    [ref("look", { namespace: "git" }), ["git.look"]],
    [ref("git__look"), ["git.look"]],
    [ref("git.status"), ["git.status"]],
    [ref("get"), ["crm.get"]],
    [ref("git", { kind: "namespace" }), ["git.status", "git.look"]],
  ])("are those that are allowed by %j", (one, wanted) => {
    const { deferrable, forbidden } = sorted({ type: "allowed", mode: "auto", tools: [one] });
    expect(deferrable.map(fullName)).toEqual(wanted);
    expect(forbidden).toHaveLength(4 - wanted.length);
  });

  it.each<[ToolRef, string]>([
    [ref("look"), "look"],
    [ref("crm__get"), "crm.get"],
    [ref("get"), "crm.get"],
  ])("have one that is forced by %j", (tool, wanted) => {
    const { forced } = sorted({ type: "tool", tool });
    expect(forced && fullName(forced)).toBe(wanted);
  });
});
