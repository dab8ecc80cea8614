import type { GeminiGateway } from "./gateway.ts";
import type { Toolbox } from "../sdk/gateway.ts";

export type Talk = {
  readonly stream: boolean;
  /** The tools that the client offers and runs; none if left out. */
  readonly box?: Toolbox;
  readonly questions: readonly string[];
};

export type InlineFile = { readonly mimeType: string; readonly data: string };

/** The functions of an SDK. A text in place of a function is the reason why the SDK lacks it. */
export type GeminiClient = {
  readonly name: string;
  /** True if the client cannot be run here. */
  readonly isMissing?: boolean;
  /** The reason why callers of the SDK cannot catch the failure of a stream that breaks off. */
  readonly unhandled?: string;
  /** Asks the questions in one conversation, and runs the calls of the answers; returns the last texts. */
  talk(gateway: GeminiGateway, talk: Talk): Promise<readonly string[]>;
  /** Asks for an object with a city and a number of days. */
  object(gateway: GeminiGateway, stream: boolean): Promise<unknown>;
  file(gateway: GeminiGateway, file: InlineFile): Promise<string>;
  readonly countTokens: ((gateway: GeminiGateway, text: string) => Promise<number>) | string;
  /** The names of all models, and the name of the model that is got by each. */
  readonly models: ((gateway: GeminiGateway) => Promise<readonly [string[], string[]]>) | string;
};
