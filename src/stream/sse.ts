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
export function sseReader(
  onFrame: OnFrame,
  longest = 16 * 1024 * 1024,
  onComment: (text: string) => void = () => {},
): SseReader {
  let partial = false;
  let broken = false;
  const parser = createParser({
    maxBufferSize: longest,
    onEvent: (event) => onFrame(event.data, event.event, partial),
    onComment,
    onError(error) {
      // Some say what went wrong in a field of that name, which a stream does not have.
      if (error.field === "error") onFrame(error.value ?? "", "error", partial);
      if (error.type !== "max-buffer-size-exceeded") return;
      broken = true;
      throw new Fault(
        "upstream.malformed",
        `The upstream sent a frame of more than ${longest} characters, which is not read; try again, or another model.`,
        {},
        error,
      );
    },
  });
  return {
    feed: (text) => parser.feed(text),
    end() {
      partial = true;
      if (!broken) parser.feed("\n\n");
    },
  };
}

/** JSON as we write it has no line breaks; what an upstream sent may have. */
export function sseFrame(data: string, name?: string): string {
  const lines = data.includes("\n") ? data.replaceAll("\n", "\ndata: ") : data;
  return name === undefined ? `data: ${lines}\n\n` : `event: ${name}\ndata: ${lines}\n\n`;
}

export const sseDone = "data: [DONE]\n\n";

export const sseComment = (text: string): string => `: ${text.replaceAll(/[\r\n]+/g, " ")}\n\n`;
