import * as fc from "fast-check";
import { expect, it } from "vitest";
import { models } from "./model-list.ts";

type Page = { models: { name: string }[]; nextPageToken?: string };
const page = (names: readonly string[], query: string): Page => models.page(names, query) as Page;

it("names models as resources that answer", () => {
  expect(models.model("up/m")).toEqual({
    name: "models/up/m",
    baseModelId: "up/m",
    version: "001",
    displayName: "up/m",
    supportedGenerationMethods: ["generateContent", "streamGenerateContent", "countTokens"],
  });
});

it("gives every model once, page by page", () => {
  const names = fc.uniqueArray(fc.string({ minLength: 1 }), { maxLength: 120 });
  fc.assert(
    fc.property(names, fc.nat(70), (all, size) => {
      const read: string[] = [];
      for (let token: string | undefined = ""; token !== undefined;) {
        const query = new URLSearchParams({ pageSize: String(size), pageToken: token });
        const { models: part, nextPageToken } = page(all, query.toString());
        expect(part.length).toBeLessThanOrEqual(size || 50);
        for (const { name } of part) read.push(name.slice("models/".length));
        token = nextPageToken;
      }
      expect(read).toEqual(all);
    }),
  );
});

it("takes the names of the protocol, and no other size or token", () => {
  expect(page(["a", "b"], "page_size=1")).toMatchObject({ nextPageToken: "a" });
  expect(page(["a", "b"], "page_token=a").models).toHaveLength(1);
  for (const query of ["pageSize=-1", "pageSize=x", "pageSize=1.5", "pageToken=nix"])
    expect(() => page(["a"], query)).toThrow(expect.objectContaining({ code: "request.invalid" }));
});
