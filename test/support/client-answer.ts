import { createParser } from "eventsource-parser";
import type { Body } from "./fake-upstream.ts";

export type SseFrame = { readonly event: string | undefined; readonly data: string };

/** The frames of a stream, read by someone else's parser. */
export function framesOf(text: string): SseFrame[] {
  const frames: SseFrame[] = [];
  const parser = createParser({ onEvent: ({ event, data }) => void frames.push({ event, data }) });
  parser.feed(text);
  return frames;
}

/** What a client was told, whichever door it came through. */
export type ClientAnswer = {
  readonly text: string;
  readonly refusal: string;
  readonly reasoning: string;
  readonly calls: readonly ClientCall[];
  readonly stop: string;
  readonly error: Body | undefined;
};
export const noAnswer: ClientAnswer = {
  text: "",
  refusal: "",
  reasoning: "",
  calls: [],
  stop: "",
  error: undefined,
};
export type ClientCall = {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly input: string;
  readonly complete: boolean;
};

/**
 * All that came of an answer; `isWhole`: false if the connection broke off. `onText` receives all
 * that has come so far.
 */
export async function received(
  { body }: Response,
  onText: (text: string) => void = () => {},
): Promise<{ readonly text: string; readonly isWhole: boolean }> {
  const decoder = new TextDecoder();
  let text = "";
  try {
    for await (const piece of body ?? []) {
      text += decoder.decode(piece as Uint8Array, { stream: true });
      onText(text);
    }
  } catch {
    return { text, isWhole: false };
  }
  return { text, isWhole: true };
}
