import { describe, expect, it } from "vitest";
import { proxyFor } from "./proxy.ts";

const way = (address: string, environment: Record<string, string>): string | undefined =>
  proxyFor(new URL(address), environment)?.href;

describe("the proxy on the way to an upstream", () => {
  it("is that of its protocol, else that of all", () => {
    const both = { HTTPS_PROXY: "http://a:1", HTTP_PROXY: "http://b:2" };
    expect(way("https://api.example.com/v1", both)).toBe("http://a:1/");
    expect(way("http://api.example.com/v1", both)).toBe("http://b:2/");
    expect(way("http://api.example.com", { ALL_PROXY: "socks5://c:3" })).toBe("socks5://c:3");
    expect(way("http://api.example.com", { HTTPS_PROXY: "http://a:1" })).toBeUndefined();
  });

  it("may be written small, and without a protocol", () => {
    const env = { https_proxy: "near:3128", HTTPS_PROXY: "http://far:1" };
    expect(way("https://api.example.com", env)).toBe("http://near:3128/");
  });

  it.each(["http://localhost:1", "http://127.0.0.1:1", "http://[::1]:1"])(
    "is none to this machine: %s",
    (address) => {
      expect(way(address, { ALL_PROXY: "http://a:1" })).toBeUndefined();
    },
  );

  it.each([
    ["*", true],
    ["example.com", true],
    [".example.com", true],
    ["*.example.com", true],
    ["api.example.com:443", true],
    ["other.com, API.example.com", true],
    ["api.example.com:8443", false],
    ["ample.com", false],
    ["other.com", false],
    ["", false],
    [",", false],
  ])("is none to what NO_PROXY=%j names: %s", (list, isNone) => {
    const env = { HTTPS_PROXY: "http://a:1", NO_PROXY: list };
    expect(way("https://api.example.com/v1", env) === undefined).toBe(isNone);
  });

  it.each(["http://", "gopher://a:1", "http://a:port"])("must be one: %s", (said) => {
    expect(() => way("https://api.example.com", { HTTPS_PROXY: said })).toThrow(
      "environment variable HTTPS_PROXY names no proxy; write http://host:port, or unset it.",
    );
  });
});
