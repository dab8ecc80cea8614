import { describe, expect, it } from "vitest";
import type { UpstreamName } from "../../turn/names.ts";
import type { Item, Part } from "../../turn/turn.ts";
import { writeCodexItem } from "./request.ts";

function write(item: Item<UpstreamName>) {
  const lost: string[] = [];
  const written = writeCodexItem(item, (action, reason) => void lost.push(`${action}: ${reason}`));
  return { written, lost };
}
const result = (...parts: Part[]): Item<UpstreamName> => ({
  type: "result",
  call: "a",
  kind: "function",
  parts,
});
const remote: Part = { type: "image", url: "https://example.com/a.png" };

describe("an item for Codex", () => {
  it("is a result with its text, also where there is none", () => {
    expect(write(result({ type: "text", text: "x" })).written).toMatchObject({ output: "x" });
    expect(write(result()).written).toMatchObject({ output: "" });
  });

  it("tells of an image that it cannot hold", () => {
    const { written, lost } = write(result(remote));
    expect(JSON.stringify(written)).toContain("cannot be shown");
    expect(lost).toEqual(["dropped: Codex takes images only as data URLs"]);
  });

  it("is none where a message says nothing, and that is told", () => {
    const { written, lost } = write({ type: "message", role: "user", parts: [] });
    expect(written).toBe(undefined);
    expect(lost).toHaveLength(1);
  });

  it("has what the system says as the developer's word", () => {
    const parts = [{ type: "text", text: "x" } as const];
    expect(write({ type: "message", role: "system", parts }).written).toMatchObject({
      role: "developer",
    });
  });
});
