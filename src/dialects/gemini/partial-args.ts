/** Writes the arguments of a call, which come as values with their places, as pieces of JSON text. */

import type { Fields } from "../../turn/turn.ts";
import { fieldsOf, filledText, listOf } from "../shared/loose.ts";

/** A key of an object, or an index of a list. */
type Step = string | number;

/** An object or list that is not closed. */
type Container = {
  /** Its place in the container around it; undefined for the arguments themselves. */
  readonly step: Step | undefined;
  readonly isList: boolean;
  /** The number of its members so far: in a list, the index of the next. */
  count: number;
  /** The keys of an object that are written. */
  readonly keys: Set<string>;
};

/** Deeper arguments are not read. */
const DEEPEST = 64;
const VALUES = ["stringValue", "numberValue", "boolValue", "nullValue"] as const;

/**
 * The arguments of one call. The places come in the order of the text, so the text grows only at
 * its end. A place that is behind the end, or skips an index, is an error.
 */
export class PartialArgs {
  readonly #open: Container[] = [];
  /** The place of the text that may grow. */
  #text: readonly Step[] | undefined;
  /** A place without a value so far: what follows shows whether it is a list. */
  #waiting: readonly Step[] | undefined;

  /** The JSON text that an entry adds; undefined if it does not fit. */
  add(entry: Fields): string | undefined {
    const path = filledText(entry.jsonPath);
    const read = path === undefined ? undefined : stepsOf(path);
    if (read === undefined) return undefined;
    const { steps, closes } = read;
    const value = VALUES.find((kind) => entry[kind] !== undefined);
    if (value === "stringValue" && this.#text !== undefined && isSame(this.#text, steps)) {
      const more = escaped(entry.stringValue);
      if (more !== undefined && entry.willContinue !== true) this.#text = undefined;
      return more === undefined || entry.willContinue === true ? more : `${more}"`;
    }
    if (value === undefined && !closes && this.#isOpenAt(steps)) return "";
    let text = this.#settle(steps);
    if (text === undefined) return undefined;
    if (value === undefined) {
      if (closes) {
        const closed = this.#isOpenAt(steps) ? "" : this.#begin(steps, true);
        return closed === undefined ? undefined : text + closed + this.#closeTo(steps.length);
      }
      if (steps.length === 0) return text;
      this.#waiting = steps;
      return text;
    }
    const place = this.#place(steps);
    if (place === undefined || steps.length === 0) return undefined;
    text += place;
    if (value === "numberValue" || value === "boolValue") {
      const plain = JSON.stringify(entry[value]);
      return /^(?:true|false|-?\d.*)$/.test(plain) ? text + plain : undefined;
    }
    if (value === "nullValue") return `${text}null`;
    const said = escaped(entry.stringValue);
    if (said === undefined) return undefined;
    if (entry.willContinue !== true) return `${text}"${said}"`;
    this.#text = steps;
    return `${text}"${said}`;
  }

  /** The rest of the text. */
  end(): string {
    const text = this.#settle(undefined) ?? "";
    return text + (this.#open.length === 0 ? "{}" : this.#closeTo(0));
  }

  /** Ends the text, and writes the value that waits, if it is not the beginning of the next place. */
  #settle(next: readonly Step[] | undefined): string | undefined {
    const end = this.#text === undefined ? "" : '"';
    this.#text = undefined;
    const waiting = this.#waiting;
    if (waiting === undefined) return end;
    this.#waiting = undefined;
    if (next !== undefined && startsWith(next, waiting)) return end;
    const place = this.#place(waiting);
    return place === undefined ? undefined : `${end}${place}{}`;
  }

  /** Opens and closes containers up to a place, and writes its key. */
  #place(steps: readonly Step[]): string | undefined {
    if (steps.length > DEEPEST) return undefined;
    const [first] = steps;
    if (typeof first === "number") return undefined;
    let text = this.#open.length === 0 ? this.#push(undefined, false) : "";
    let depth = 1;
    while (depth < this.#open.length && this.#open[depth]?.step === steps[depth - 1]) depth++;
    // The last step is the place of the value, never a container that is open.
    if (depth > steps.length) return undefined;
    text += this.#closeTo(depth);
    for (let at = depth - 1; at < steps.length; at++) {
      const step = steps[at];
      const holder = this.#open.at(-1);
      if (step === undefined || holder === undefined) return undefined;
      const key = member(holder, step);
      if (key === undefined) return undefined;
      text += key;
      const next = steps[at + 1];
      if (next !== undefined) text += this.#push(step, typeof next === "number");
    }
    return text;
  }

  /** Opens a container at a place. */
  #begin(steps: readonly Step[], isList: boolean): string | undefined {
    const place = this.#place(steps);
    return place === undefined ? undefined : place + this.#push(steps.at(-1), isList);
  }

  #push(step: Step | undefined, isList: boolean): string {
    this.#open.push({ step, isList, count: 0, keys: new Set() });
    return isList ? "[" : "{";
  }

  /** Closes all containers but the outer ones of this number. */
  #closeTo(depth: number): string {
    let text = "";
    while (this.#open.length > depth) text += this.#open.pop()?.isList === true ? "]" : "}";
    return text;
  }

  #isOpenAt(steps: readonly Step[]): boolean {
    return (
      this.#open.length > steps.length &&
      steps.every((step, at) => this.#open[at + 1]?.step === step)
    );
  }
}

/** The comma and the key before a member; undefined if it cannot be the next one. */
function member(holder: Container, step: Step): string | undefined {
  const comma = holder.count > 0 ? "," : "";
  if (holder.isList !== (typeof step === "number")) return undefined;
  if (typeof step === "number") {
    if (step !== holder.count) return undefined;
    holder.count++;
    return comma;
  }
  if (holder.keys.has(step)) return undefined;
  holder.keys.add(step);
  holder.count++;
  return `${comma}${JSON.stringify(step)}:`;
}

const escaped = (value: unknown): string | undefined =>
  typeof value === "string" ? JSON.stringify(value).slice(1, -1) : undefined;

const isSame = (one: readonly Step[], other: readonly Step[]): boolean =>
  one.length === other.length && startsWith(one, other);

const startsWith = (path: readonly Step[], start: readonly Step[]): boolean =>
  start.every((step, at) => path[at] === step);

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
    else steps.push((double ?? single ?? "").replaceAll(/\\(.)/g, "$1"));
  }
  return { steps, closes };
}

/** The entries of a call's piece. */
export const entriesOf = (call: Fields): readonly Fields[] =>
  (listOf(call.partialArgs) ?? []).map((one) => fieldsOf(one) ?? {});
