import { describe, expect, it } from "vitest";
import { parseConfig } from "./config.ts";
import { standingOf, type Standing } from "./origins.ts";

const standing = (origin: string, server: object = {}): Standing =>
  standingOf(origin, parseConfig({ server }).server);

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
