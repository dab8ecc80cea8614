/**
 * Prints the output of every command. Clients, models and files choose names and texts in it, so
 * characters that control a terminal or reorder text are printed as `\uXXXX`.
 */

import { createInterface } from "node:readline/promises";
import { Fault } from "../../turn/fault.ts";

/** Controls (C0 but the tab, DEL, C1), line separators, and marks that change the direction of text. */
const UNPRINTABLE = new RegExp(
  String.raw`[\0-\x08\n-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]`,
  "g",
);

/** One line of text as a terminal may show it; a second time it changes nothing. */
export const printable = (text: string): string =>
  text.replaceAll(UNPRINTABLE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Texts that are the same in JSON. */
const PLAIN = /^[ !#-[\]-~]*$/;

/** A value as printable JSON, which else leaves C1 controls and marks of direction as they are. */
export const printableJson = (value: unknown): string =>
  typeof value === "string" && PLAIN.test(value) ? `"${value}"` : printable(JSON.stringify(value));

type Lines = string | readonly string[];

const textOf = (lines: Lines): string => [lines].flat().map(printable).join("\n");

/** Prints one line, or several, to standard output. */
export const print = (lines: Lines): void => console.log(textOf(lines));

/** The same to standard error. */
export const printError = (lines: Lines): void => console.error(textOf(lines));

/** Replaces the last line of standard error; false if that is no terminal. */
export function printOver(line: string): boolean {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001B[K${printable(line)}`);
  return process.stderr.isTTY;
}

/** A command cannot do what it was asked to: what is wrong, and what to do. */
export const refusal = (message: string, cause?: unknown): Fault =>
  new Fault("request.invalid", message, {}, cause);

export class Problems extends Fault {
  readonly lines: readonly string[];

  constructor(lines: readonly string[]) {
    super("request.invalid", lines.join("\n"));
    this.lines = lines;
  }
}

export const printFault = (fault: Fault): void =>
  printError(fault instanceof Problems ? fault.lines : fault.message);

/** Line ends in JSON text are indentation; within its strings they are escaped already. */
export const printJson = (value: unknown, indent?: number): void =>
  print((JSON.stringify(value, null, indent) ?? "null").split("\n"));

/** True if commands may ask a person. */
export const isTerminal = (): boolean => process.stdin.isTTY && process.stdout.isTTY;

export async function askPerson(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question(printable(question));
  terminal.close();
  return answer;
}
