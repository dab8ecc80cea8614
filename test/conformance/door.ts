import type { Body } from "../support/fake-upstream.ts";
import type { Asked, Capability } from "./scenario.ts";

export type ReadCall = {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string | undefined;
  readonly input: string;
};

export type ReadChoice = {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly ReadCall[];
  readonly stop: string;
};

/** What a client read. */
export type Read = {
  readonly choices: readonly ReadChoice[];
  readonly usage?: { readonly input: number; readonly output: number } | undefined;
  readonly error?: string | undefined;
};

/** A client of one dialect: how it asks, and how it reads, as strictly as the strictest. */
export type TestDoor = {
  readonly name: string;
  readonly can: ReadonlySet<Capability>;
  request(asked: Asked, line: { readonly model: string; readonly stream: boolean }): Asking;
  readStream(text: string): Read;
  readBody(text: string): Read;
  /** What a refusal says. */
  readError(text: string): string;
};

export type Asking = { readonly path: string; readonly body: Body };

export const parameters = { type: "object", properties: { at: { type: "string" } } };
