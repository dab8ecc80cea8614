import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CallAssembly, type Fragment } from "./assembly.ts";
import { cpuTime } from "../../../test/support/cpu-time.ts";

const header = (index: number, input = ""): Fragment => ({
  index,
  id: `id${index}`,
  kind: "function",
  name: `f${index}`,
  input,
  notFirst: false,
});

const more = (index: number, input: string): Fragment => ({
  index,
  id: "",
  kind: "",
  name: "",
  input,
  notFirst: false,
});

type Told = { readonly said: readonly string[]; readonly assembly: CallAssembly };

/** What is told of calls, in its order: `0:` where one begins, `0{` where it goes on. */
function tell(fragments: readonly Fragment[]): Told {
  const said: string[] = [];
  const assembly = new CallAssembly(
    0,
    (prefix) => prefix,
    (event) => void said.push(`${event.call}${event.type === "call-start" ? ":" : event.text}`),
  );
  for (const fragment of fragments) assembly.each(fragment);
  return { said, assembly };
}

describe("calls whose fragments take turns", () => {
  it("are told one after another: readers follow one at a time", () => {
    const { said, assembly } = tell([
      header(0),
      header(1),
      header(2),
      more(0, '{"x'),
      more(1, "[1"),
      more(2, "{"),
      more(0, '":1}'),
      more(1, ",2"),
      more(2, "}"),
      more(1, "]"),
    ]);
    expect(said).toEqual(["0:", '0{"x', '0":1}', "1:", "1[1", "1,2", "1]", "2:", "2{}"]);
    expect(assembly.begun).toBe(assembly.count);
  });

  it("begin in their order, though a later one may have its arguments first", () => {
    expect(tell([header(0), header(1, "{")]).said).toEqual(["0:", "1:", "1{"]);
    const { said } = tell([
      header(0, "{"),
      header(1),
      header(2, "{}"),
      more(1, "["),
      more(0, "}"),
      more(1, "]"),
    ]);
    expect(said).toEqual(["0:", "0{", "0}", "1:", "1[", "1]", "2:", "2{}"]);
  });

  it("wait no longer than to the end for one whose arguments are never closed", () => {
    const { said, assembly } = tell([header(0, "{"), header(1, "["), more(1, "]")]);
    expect(said).toEqual(["0:", "0{"]);
    assembly.end();
    expect(said.slice(2)).toEqual(["1:", "1[]"]);
  });

  it("never begin within the one that is being told, whatever turns they take", () => {
    const pieces = fc.constantFrom(["{}"], ["{", "}"], ["{", '"a":[', "]", "}"], ["[", "", "]"]);
    const turns = fc.array(fc.nat(5), { maxLength: 30 });
    fc.assert(
      fc.property(fc.array(pieces, { minLength: 1, maxLength: 6 }), turns, (calls, order) => {
        const left = calls.map((inputs, index) => [
          header(index),
          ...inputs.map((input) => more(index, input)),
        ]);
        const fragments: Fragment[] = [];
        let heard = 0;
        // Whose turn it is; a call that has not been heard of is heard of behind those before it.
        for (const turn of [...order, ...left.flatMap((all, at) => all.map(() => at))]) {
          const at = Math.min(turn, heard, left.length - 1);
          const fragment = left[at]?.shift();
          if (fragment === undefined) continue;
          heard = Math.max(heard, at + 1);
          fragments.push(fragment);
        }
        const inputs = calls.map(() => "");
        let last = 0;
        for (const word of tell(fragments).said) {
          const [at, text] = [Number(word[0]), word.slice(1)];
          const within = text === ":" && isHalf(inputs[last] ?? "") ? last : undefined;
          expect(within).toBeUndefined();
          if (text !== ":") inputs[at] += text;
          last = at;
        }
        expect(inputs).toEqual(calls.map((all) => all.join("")));
      }),
      { numRuns: 500 },
    );
  });

  it("are told in linear time, however many wait for one", () => {
    const many = Array.from({ length: 100_000 }, (_, at) => header(at + 1, "{}"));
    const started = cpuTime();
    const { said } = tell([header(0, "{"), ...many, more(0, "}")]);
    expect(said.length).toBe(2 * many.length + 3);
    expect(cpuTime() - started).toBeLessThan(3_000);
  });
});

const isHalf = (input: string): boolean =>
  (input.match(/[[{]/g) ?? []).length !== (input.match(/[\]}]/g) ?? []).length;
