import { describe, expect, it } from "vitest";
import { profileFor, profiles } from "./profiles.ts";

describe("profiles", () => {
  it.each([...profiles.values()])("$name can be asked for by name", (profile) => {
    expect(profileFor(profile.name, "chat")).toBe(profile);
    expect(profile.tools.kinds["*"], "an answer for every kind").toBeDefined();
    expect(new RegExp(`^[${profile.tools.names.chars}]+$`, "u").test("get_weather")).toBe(true);
  });

  it("fall back to the generic one of a dialect, and only without a name", () => {
    expect(profileFor(undefined, "chat")?.name).toBe("generic-chat");
    expect(profileFor(undefined, "responses")?.name).toBe("generic-responses");
    expect(profileFor("no-such", "chat")).toBe(undefined);
  });
});
