import { createParser } from "eventsource-parser";
import { Fault } from "../turn/fault.ts";

/** Takes one frame. `partial`: the connection closed before the frame was over. */
export type OnFrame = (data: string, name: string | undefined, partial: boolean) => void;

export type SseReader = {
  feed(text: string): void;
  /** The connection closed: hands over what was still open, as a partial frame. */
  end(): void;
};

/** Splits text into SSE frames, whatever the line ends, comments and slices. */
export function sseReader(onFrame: OnFrame, longest = 16 * 1024 * 1024): SseReader {
  let partial = false;
  const parser = createParser({
    maxBufferSize: longest,
    onEvent: (event) => onFrame(event.data, event.event, partial),
    onError(error) {
      if (error.type !== "max-buffer-size-exceeded") return;
      throw new Fault(
        "upstream.malformed",
        `The upstream sent a line of more than ${longest} characters.`,
        {},
        error,
      );
    },
  });
  return {
    feed: (text) => parser.feed(text),
    end() {
      partial = true;
      parser.feed("\n\n");
    },
  };
}

/** `data` must hold no line break, as JSON text never does. */
export const sseFrame = (data: string, name?: string): string =>
  name === undefined ? `data: ${data}\n\n` : `event: ${name}\ndata: ${data}\n\n`;

export const sseDone = "data: [DONE]\n\n";

export const sseComment = (text: string): string => `: ${text.replaceAll(/[\r\n]+/g, " ")}\n\n`;
