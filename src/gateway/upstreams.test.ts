import { describe, expect, it } from "vitest";
import { nodePlatform } from "../host/platform/node.ts";
import { parseConfig, type ConfigInput } from "./config.ts";
import { openPlatform } from "./platform.ts";
import { openUpstreams } from "./upstreams.ts";

const open = (upstreams: NonNullable<ConfigInput["upstreams"]>) =>
  openUpstreams(parseConfig({ upstreams }), openPlatform(nodePlatform()));

describe("an upstream", () => {
  it("has the profile and the capabilities it was given, the demo too", () => {
    const script = [["Hello."]];
    const upstreams = open({
      plain: { dialect: "scripted" },
      actor: { dialect: "scripted", script, profile: "generic-chat" },
      demo: { dialect: "scripted", profile: "generic-chat" },
      small: { dialect: "scripted", capabilities: { tools: { max: 1 } } },
    });
    const profileOf = (name: string) => upstreams.get(name)?.profile;
    expect(profileOf("plain")?.name).toBe("demo");
    expect(profileOf("actor")?.name).toBe("generic-chat");
    expect(profileOf("demo")?.name).toBe("generic-chat");
    expect(profileOf("small")).toMatchObject({ name: "demo", tools: { max: 1 } });
  });
});
