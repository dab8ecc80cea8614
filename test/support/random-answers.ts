import * as fc from "fast-check";

/** What a model says, in no dialect. */
export type RandomAnswer = {
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly args: string }[];
};

const letters = fc.constantFrom("a", "b", " ", "é", "👋🏽", "\n", '"', "{", "\\", "\r", "\u2028");
const words = fc
  .string({ unit: letters, minLength: 1, maxLength: 12 })
  .filter((text) => text.trim() !== "");
const values = fc.oneof(
  fc.string({ maxLength: 6 }),
  fc.integer(),
  fc.constantFrom(null, [1, { a: "}" }]),
);
const args = fc
  .dictionary(fc.constantFrom("x", "y", "é"), values, { maxKeys: 3 })
  .map((value) => JSON.stringify(value));

export const anyAnswer: fc.Arbitrary<RandomAnswer> = fc
  .record({
    reasoning: fc.option(words, { nil: "" }),
    text: fc.option(words, { nil: "" }),
    calls: fc.array(fc.record({ name: fc.constantFrom("look", "find", "read_file"), args }), {
      maxLength: 3,
    }),
  })
  .filter(({ text, calls }) => text !== "" || calls.length > 0);

/** A text in pieces of so many characters. */
export function cutUp(text: string, size: number): string[] {
  const chars = Array.from(text);
  const pieces: string[] = [];
  for (let at = 0; at < chars.length; at += size) pieces.push(chars.slice(at, at + size).join(""));
  return pieces;
}

/** How a stream may be written, all of it lawful. */
export const anyWireForm = fc.record({
  eol: fc.constantFrom("\n", "\r\n", "\r"),
  mark: fc.boolean(),
  comments: fc.constantFrom("none", "between", "inside"),
  lines: fc.boolean(),
  space: fc.boolean(),
  fields: fc.constantFrom("none", "id", "event", "retry"),
  split: fc.integer({ min: 1, max: 64 }),
});
export type WireForm = typeof anyWireForm extends fc.Arbitrary<infer T> ? T : never;
export type Named = { readonly name?: string | undefined; readonly value: unknown };

/** The bytes of a stream, as they come over the wire. */
export function wireBytes(frames: readonly Named[], how: WireForm): Uint8Array[] {
  const { eol, split } = how;
  const field = (name: string, value: string): string =>
    `${name}:${how.space ? " " : ""}${value}${eol}`;
  const text = frames.map(({ name, value }, at) => {
    const lines: string[] = [];
    if (how.comments !== "none" && at % 2 === 0) lines.push(`: keep${eol}${eol}`);
    if (how.fields === "event" && at % 3 === 0) lines.push(field("event", "ping"), eol);
    if (how.fields === "id") lines.push(field("id", `${at}`));
    if (how.fields === "retry") lines.push(field("retry", "10"));
    if (name !== undefined) lines.push(field("event", name));
    const indent = how.lines ? 1 : 0;
    const data = typeof value === "string" ? value : JSON.stringify(value, null, indent);
    for (const [line, part] of data.split("\n").entries()) {
      lines.push(field("data", part));
      if (how.comments === "inside" && line === 0) lines.push(`: inside${eol}`);
    }
    return lines.join("") + eol;
  });
  const bytes = new TextEncoder().encode((how.mark ? "\ufeff" : "") + text.join(""));
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += split) pieces.push(bytes.slice(at, at + split));
  // So many writes only take time.
  return pieces.length > 400 ? [bytes] : pieces;
}
