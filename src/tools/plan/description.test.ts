import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  ask,
  calling,
  custom,
  fn,
  message,
  namespace,
  restored,
  withTools,
} from "../../../test/support/turns.ts";
import type { ToolChoice, Message, Tool } from "../../turn/turn.ts";
import { planTools } from "./plan.ts";

const MOST = 60;
const brief = withTools({ descriptions: MOST });
const long = "Looks for files. ".repeat(20).trim();
const plan = (tools: readonly Tool[], more = {}) => planTools(ask({ tools, ...more }), brief);
const sentWords = (items: readonly unknown[]): string =>
  (items[0] as Message).parts.map((part) => (part.type === "text" ? part.text : "")).join("");

describe("a description that is longer than the upstream takes", () => {
  it("goes on with the instructions, and nothing of it is lost", () => {
    const tools = [{ ...fn("look"), description: long }, fn("read")];
    const { turn, decisions, identical } = plan(tools, { items: [message("system", "Be brief.")] });
    const { description } = turn.tools[0] as { description: string };
    expect(description.length).toBeLessThanOrEqual(MOST);
    const [head, mark] = description.split(" (");
    expect(mark).toBe("continued in the instructions)");
    expect(sentWords(turn.items)).toBe(
      `Be brief.\n\nThe description of the tool \`look\` continues:\n${long.slice(head?.length).trim()}`,
    );
    expect(identical).toBe(false);
    expect(decisions).toEqual([
      {
        path: "tools[0]",
        action: "reshaped",
        reason:
          "the upstream accepts 60 characters, so its description continues in the instructions",
      },
    ]);
  });

  it("is put together again from any text, whatever the tool is", () => {
    const said = fc.oneof(fc.string({ maxLength: 300 }), fc.lorem({ maxCount: 60 }));
    const kinds = [
      fn("t"),
      custom("t"),
      custom("t", { type: "grammar", definition: "x".repeat(99) }),
    ];
    fc.assert(
      fc.property(said, fc.constantFrom(...kinds), (description, tool) => {
        const free = planTools(ask({ tools: [{ ...tool, description }] }), withTools({}));
        const { turn } = plan([{ ...tool, description }]);
        const whole = (free.turn.tools[0] as { description?: string }).description ?? "";
        const { description: told = "" } = turn.tools[0] as { description?: string };
        expect(told.length).toBeLessThanOrEqual(MOST);
        expect(told.isWellFormed() || !whole.isWellFormed()).toBe(true);
        const head = told.replace(/ ?\(continued in the instructions\)$/, "");
        const words = turn.items.length === 0 ? "" : sentWords(turn.items);
        const rest = words.replace(/^.*continues:\n/, "");
        expect(turn.items).toHaveLength(whole.length > MOST ? 1 : 0);
        expect(whole.replaceAll(/\s/g, "")).toBe((head + rest).replaceAll(/\s/g, ""));
      }),
    );
  });

  it("is told under the name the upstream knows, and only of tools that are offered", () => {
    const tools = [
      namespace("git.hub", [{ ...fn("status"), description: long }]),
      { ...fn("look"), description: long },
    ];
    const all = plan(tools);
    expect(sentWords(all.turn.items)).toContain("tool `git_hub__status` continues");
    expect(sentWords(all.turn.items)).toContain("tool `look` continues");
    expect(restored(all, calling("git_hub__status", ["{}"])).calls).toMatchObject([
      { name: "status", namespace: "git.hub" },
    ]);
    const look = { type: "tool", tool: { kind: "function", name: "look" } };
    const forced = planTools(
      ask({ tools, toolChoice: look as ToolChoice }),
      withTools({ descriptions: MOST, choice: ["auto"] }),
    );
    expect(sentWords(forced.turn.items)).not.toContain("git_hub__status");
    expect(sentWords(forced.turn.items)).toContain("tool `look` continues");
    const none = planTools(
      ask({ tools, toolChoice: { type: "none" } }),
      withTools({ descriptions: MOST, choice: ["auto"] }),
    );
    expect(none.turn.items).toEqual([]);
  });

  it("stays as it is where the upstream takes any", () => {
    const tools = [{ ...fn("look"), description: long }];
    expect(planTools(ask({ tools }), withTools({})).turn.tools).toBe(tools);
  });
});
