import { chatTraits } from "../chat/traits.ts";
import { describe, expect, it } from "vitest";
import { fromChat, fromElsewhere, write } from "../../../test/support/chat-requests.ts";
import { listParams, takesParams } from "./params.ts";
import type { Profile } from "../../turn/profile.ts";
import { genericChat } from "../../profiles/generic.ts";

const off = { thinking: { type: "disabled" } };
const on = { thinking: { type: "enabled" } };
const graded: Partial<Profile> = {
  effort: {
    none: { as: null, fields: off },
    xhigh: { as: "high", fields: on, changed: true },
    "*": { fields: on },
  },
};
const switched: Partial<Profile> = {
  params: { effort: null },
  effort: { none: { fields: off }, "*": { fields: on, changed: true } },
};
const asked = (effort: string, more: Partial<Profile>) => {
  const { body, decisions } = write(fromElsewhere([], { params: { effort } }), more);
  const { reasoning_effort, thinking } = body;
  return { reasoning_effort, ...(thinking as object), decisions };
};

describe("an effort", () => {
  it("is told as it is to an upstream that says nothing of it", () => {
    expect(asked("ultra", {})).toEqual({ reasoning_effort: "ultra", decisions: [] });
  });

  it("is told with what switches thinking", () => {
    expect(asked("low", graded)).toEqual({
      reasoning_effort: "low",
      type: "enabled",
      decisions: [],
    });
    expect(asked("none", graded)).toEqual({ type: "disabled", decisions: [] });
  });

  it("is told as the nearest there is, and that is said where it is another", () => {
    expect(asked("xhigh", graded)).toEqual({
      reasoning_effort: "high",
      type: "enabled",
      decisions: [
        {
          path: "reasoning.effort",
          action: "changed",
          reason: "the test profile has nothing nearer than `high`",
        },
      ],
    });
  });

  it("is told by the switch alone where there is no more", () => {
    expect(asked("none", switched)).toEqual({ type: "disabled", decisions: [] });
    expect(asked("high", switched)).toEqual({
      type: "enabled",
      decisions: [
        {
          path: "reasoning.effort",
          action: "changed",
          reason: "the upstream decides how much the model thinks",
        },
      ],
    });
  });

  it("is lost where there is a word for it and no place to say it", () => {
    const more = { params: { effort: null }, effort: { minimal: { as: "low" }, medium: {} } };
    expect(asked("minimal", more)).toMatchObject({ decisions: [{ action: "dropped" }] });
    expect(asked("high", more)).toMatchObject({ decisions: [{ action: "dropped" }] });
    expect(asked("medium", more)).toEqual({ decisions: [] });
  });

  it("is nothing that was not asked for", () => {
    expect(write(fromElsewhere([]), graded).body).not.toHaveProperty("thinking");
  });

  it("may be any word of the client's", () => {
    expect(asked("constructor", graded)).toMatchObject({ reasoning_effort: "constructor" });
    expect(asked("__proto__", { effort: {} })).toMatchObject({ reasoning_effort: "__proto__" });
  });

  it("yields to what the client says in the upstream's own words", () => {
    const thinking = { type: "enabled", budget: 9 };
    const { body } = write(fromChat({ reasoning_effort: "none", thinking }), graded);
    expect(body.thinking).toEqual(thinking);
    expect(
      write(fromChat({ reasoning_effort: "none", thinking: null }), graded).body,
    ).toMatchObject(off);
  });

  it("keeps the client's own body from being forwarded only where it is told otherwise", () => {
    const turn = fromChat({ reasoning_effort: "low" });
    expect(takesParams(turn, { ...genericChat, ...graded })).toBe(false);
    expect(takesParams(turn, { ...genericChat, effort: { none: { as: null } } })).toBe(true);
  });

  it("is listed under what stands for it", () => {
    const turn = fromElsewhere([], { params: { effort: "low" } });
    const listed = (more: Partial<Profile>) =>
      listParams(turn, { ...genericChat, ...more }, chatTraits);
    expect(listed(graded)).toEqual([{ path: "reasoning.effort", target: "reasoning_effort" }]);
    expect(listed(switched)).toEqual([{ path: "reasoning.effort", target: "thinking" }]);
    const none = fromElsewhere([], { params: { effort: "none" } });
    expect(listParams(none, { ...genericChat, ...graded }, chatTraits)).toMatchObject([
      { target: "thinking" },
    ]);
  });
});
