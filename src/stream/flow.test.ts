import { describe, expect, it } from "vitest";
import { sourceOf, type Flow, type Source } from "./flow.ts";

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function listen<T>(source: Source<T>, on: (heard: T | "flush" | "end") => void): Flow {
  return source({
    each: (event) => on(event),
    flush: () => on("flush"),
    end: () => on("end"),
  });
}

describe("say", () => {
  it("says all there is, after it has returned", async () => {
    const heard: string[] = [];
    listen(sourceOf(["a", "b"]), (what) => void heard.push(what));
    expect(heard).toEqual([]);
    await settled();
    expect(heard).toEqual(["a", "flush", "b", "flush", "flush", "end"]);
  });

  it("holds while paused", async () => {
    const heard: string[] = [];
    const flow = listen(sourceOf(["a", "b"]), (what) => {
      heard.push(what);
      if (what === "a") flow.pause();
    });
    await settled();
    expect(heard).toEqual(["a", "flush"]);
    flow.resume();
    await settled();
    expect(heard.slice(2)).toEqual(["b", "flush", "flush", "end"]);
  });

  it.each(["a", "flush"])("says nothing once stopped at %s", async (at) => {
    const heard: string[] = [];
    const flow = listen(sourceOf(["a", "b"]), (what) => {
      heard.push(what);
      if (what === at) flow.stop();
    });
    await settled();
    flow.resume();
    await settled();
    expect(heard.at(-1)).toBe(at);
  });

  it("does not end once stopped in its last flush", async () => {
    const heard: string[] = [];
    const flow = listen(sourceOf<string>([]), (what) => {
      heard.push(what);
      flow.stop();
    });
    await settled();
    expect(heard).toEqual(["flush"]);
  });
});
