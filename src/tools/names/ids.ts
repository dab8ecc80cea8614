import type { IdRule } from "../../turn/profile.ts";
import { digitsIn, hash, fitsNameRule } from "./allocate.ts";

/** Gives every id of a conversation the form an upstream wants; the same id always the same form. */
export function idAllocator(rule: IdRule | undefined): (id: string) => string {
  const taken = new Set<string>();
  /** How many forms of an id have been tried: those are taken. */
  const tried = new Map<string, number>();
  return (id) => {
    const isFit = rule === undefined ? id !== "" : isValidId(id, rule);
    if (isFit && !taken.has(id)) {
      taken.add(id);
      return id;
    }
    let count = tried.get(id) ?? 0;
    let given = isFit && count === 0 ? id : newId(id, rule, count);
    while (taken.has(given)) given = newId(id, rule, ++count);
    tried.set(id, count);
    taken.add(given);
    return given;
  };
}

export const isValidId = (id: string, rule: IdRule): boolean =>
  fitsNameRule(id, rule) && (rule.exact !== true || id.length === rule.max);

/** A valid id in place of one that is not, or that is taken. */
function newId(id: string, rule: IdRule | undefined, count: number): string {
  const seed = count === 0 ? id : `${id}#${count}`;
  const digits = rule && digitsIn(rule);
  const word = hash(seed, digits) + hash(`${seed}.`, digits) + hash(`${seed}:`, digits);
  if (rule === undefined) return `call_${word.slice(0, 14)}`;
  if (rule.exact === true || rule.max < 14)
    return word.padEnd(rule.max, digits?.charAt(0)).slice(0, rule.max);
  const named = `call_${word}`.slice(0, Math.min(rule.max, 21));
  return fitsNameRule(named, rule) ? named : word.slice(0, rule.max);
}
