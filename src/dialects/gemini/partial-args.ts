/** Puts together the arguments of a call that come as values with their places. */

import { jsonOf } from "../../json/json.ts";
import type { Fields } from "../../turn/turn.ts";
import { fieldsOf, filledText, listOf } from "../shared/loose.ts";

/** A key of an object, or an index of a list. */
type Step = string | number;

type Leaf = { json: string };
type Value = Leaf | Value[] | Map<string, Value>;

/** Deeper arguments are not read. */
const DEEPEST = 64;

/** The arguments of one call. A place that has a value, or skips an index, is an error. */
export class PartialArgs {
  readonly #args = new Map<string, Value>();
  /** The text that may grow, without its closing quote. */
  #text: { readonly place: string; readonly leaf: Leaf } | undefined;

  /** Returns false if an entry does not fit. */
  add(entry: Fields): boolean {
    const read = stepsOf(filledText(entry.jsonPath) ?? "");
    if (read === undefined || read.steps.length > DEEPEST) return false;
    const { steps, closes } = read;
    const place = JSON.stringify(steps);
    const { stringValue: text, numberValue, boolValue, nullValue } = entry;
    const open = this.#text?.place === place ? this.#text.leaf : undefined;
    if (text === undefined || open === undefined) this.#endText();
    if (text !== undefined) {
      if (typeof text !== "string") return false;
      const leaf = open ?? { json: '"' };
      leaf.json += JSON.stringify(text).slice(1, -1);
      this.#text = { place, leaf };
      if (open === undefined && !this.#put(steps, leaf)) return false;
      if (entry.willContinue !== true) this.#endText();
      return true;
    }
    const plain = numberValue ?? boolValue;
    if (plain !== undefined) {
      const json = JSON.stringify(plain);
      return /^(?:true|false|-?\d.*)$/.test(json) && this.#put(steps, { json });
    }
    if (nullValue !== undefined) return this.#put(steps, { json: "null" });
    // Without a value, it is an empty container. What follows shows whether that is a list.
    return steps.length === 0 || this.#put(steps, closes ? [] : new Map());
  }

  /** The arguments as JSON text. */
  end(): string {
    this.#endText();
    return textOf(this.#args);
  }

  #endText(): void {
    if (this.#text !== undefined) this.#text.leaf.json += '"';
    this.#text = undefined;
  }

  #put(steps: readonly Step[], value: Value): boolean {
    let holder: Value | undefined = this.#args;
    for (const [at, step] of steps.entries()) {
      const next = steps[at + 1];
      const made = next === undefined ? value : typeof next === "number" ? [] : new Map();
      holder = member(holder, step, made);
      if (holder === undefined) return false;
    }
    return steps.length > 0;
  }
}

/** The container at a place, or the new value there; undefined if the value does not fit. */
function member(holder: Value, step: Step, value: Value): Value | undefined {
  const isList = Array.isArray(holder);
  if (!isList && !(holder instanceof Map)) return undefined;
  if (isList ? typeof step !== "number" || step > holder.length : typeof step !== "string")
    return undefined;
  const there = isList ? holder[Number(step)] : holder.get(String(step));
  const isEmpty = there instanceof Map && there.size === 0 && Array.isArray(value);
  if (there !== undefined && !isEmpty) return isLeaf(there) || isLeaf(value) ? undefined : there;
  if (isList) holder[Number(step)] = value;
  else holder.set(String(step), value);
  return value;
}

const isLeaf = (value: Value): value is Leaf => "json" in value;

function textOf(value: Value): string {
  if (isLeaf(value)) return value.json;
  if (Array.isArray(value)) return `[${value.map(textOf).join(",")}]`;
  return `{${Array.from(value, ([key, one]) => `${JSON.stringify(key)}:${textOf(one)}`).join(",")}}`;
}

const step = /\.([^.[\]]+)|\[(\d{1,9})\]|\[\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')\s*\]/y;

/** The steps of a path such as `$.a[0].b`. `closes`: it ends with `[]`, which closes a list. */
function stepsOf(
  path: string,
): { readonly steps: readonly Step[]; readonly closes: boolean } | undefined {
  if (!path.startsWith("$")) return undefined;
  const closes = path.endsWith("[]");
  const end = closes ? path.length - 2 : path.length;
  const steps: Step[] = [];
  step.lastIndex = 1;
  while (step.lastIndex < end) {
    const found = step.exec(path);
    if (found === null) return undefined;
    const [, name, index, double, single] = found;
    if (index !== undefined) steps.push(Number(index));
    else if (name !== undefined) steps.push(name);
    else {
      const key = jsonOf(
        `"${double ?? single?.replaceAll("\\'", "'").replaceAll('"', '\\"') ?? ""}"`,
      );
      if (typeof key !== "string") return undefined;
      steps.push(key);
    }
  }
  return { steps, closes };
}

/** The entries of a call's piece. */
export const entriesOf = (call: Fields): readonly Fields[] =>
  (listOf(call.partialArgs) ?? []).map((one) => fieldsOf(one) ?? {});
