import { describe, expect, it } from "vitest";
import { parseConfig } from "../config.ts";
import { foreignHostOf, originPolicyOf, type OriginPolicy } from "./admission.ts";

const standing = (origin: string, server: object = {}): OriginPolicy =>
  originPolicyOf(origin, parseConfig({ server }).server);

describe("a page that asks", () => {
  it.each([
    "http://localhost:5173",
    "https://LOCALHOST",
    "http://127.0.0.1:80",
    "http://[::1]:3000",
    "http://chat.localhost:8080",
    "capacitor://localhost",
    "tauri://localhost",
    "app://obsidian.md",
  ])("from %s is of this machine", (origin) => {
    expect(standing(origin)).toBe("welcome");
  });

  it.each([
    "https://example.com",
    "http://localhost.example.com",
    "http://127.0.0.1.example.com",
    "http://evil.com:11435",
    "null",
    "",
    "file://",
    "localhost",
  ])(
    "from %j is refused where anybody may enter, and is not shown the answers where not",
    (origin) => {
      expect(standing(origin)).toBe("refused");
      expect(standing(origin, { keys: ["k"] })).toBe("unread");
    },
  );

  it("is welcome where it is named, however that is written", () => {
    const server = { origins: ["https://Chat.Example.com/"] };
    expect(standing("https://chat.example.com", server)).toBe("welcome");
    expect(standing("https://chat.example.com:444", server)).toBe("refused");
    expect(standing("https://anything.example", { origins: ["*"] })).toBe("welcome");
  });
});

const foreign = (host: string, server: object = {}): string | undefined =>
  foreignHostOf(host, parseConfig({ server }).server);

describe("a name that a request was sent to", () => {
  it.each([
    "",
    "localhost",
    "LOCALHOST:11435",
    "chat.localhost:80",
    "127.0.0.1:11435",
    "192.168.1.7",
    "[::1]:11435",
    "[fe80::1]",
    "patchbay:11435",
    "my-machine.local",
    "host.docker.internal:11435",
    "patchbay.models.svc.cluster.local:11435",
    "localhost.:80",
  ])("may be this machine's: %s", (host) => {
    expect(foreign(host)).toBeUndefined();
  });

  it.each([
    ["evil.example:11435", "evil.example"],
    ["EVIL.example.", "evil.example."],
    ["localhost.evil.example", "localhost.evil.example"],
    ["127.0.0.1.evil.example", "127.0.0.1.evil.example"],
    ["1.2.3.4.5", "1.2.3.4.5"],
    ["internal.example", "internal.example"],
    ["[::1].evil.example", "[::1].evil.example"],
    ["evil.example/x.localhost", "evil.example"],
    ["evil.example#.localhost", "evil.example"],
  ])("may be anybody's: %s", (host, name) => {
    expect(foreign(host)).toBe(name);
    expect(foreign(host, { keys: ["k"] })).toBeUndefined();
    expect(foreign(host, { origins: ["*"] })).toBeUndefined();
  });

  it("is this machine's where its pages may use it, at whatever port", () => {
    const server = { origins: ["https://Models.example.com"] };
    expect(foreign("models.example.com", server)).toBeUndefined();
    expect(foreign("models.EXAMPLE.com:11435", server)).toBeUndefined();
    expect(foreign("other.example.com", server)).toBe("other.example.com");
  });
});
