import type {
  ReasoningDelta,
  ReasoningEnd,
  ReasoningStart,
  RefusalDelta,
  TextBreak,
  TextDelta,
  TextEnd,
  TextNote,
  TextStart,
} from "../../turn/event.ts";
import type { Fields, Item, Message, Part, Reasoning } from "../../turn/turn.ts";
import { writeOutputItem } from "./items.ts";
import {
  DELTA_TAIL,
  frameHead,
  type NumberedFrames,
  type OutputPosition,
  type OutputItems,
} from "./numbered-frames.ts";
import { writeAnnotation, writeLogprobs, writeOutputPart } from "./input-parts.ts";

type BlockEvent =
  | TextStart
  | TextBreak
  | TextDelta
  | TextNote
  | TextEnd
  | RefusalDelta
  | ReasoningStart
  | ReasoningDelta
  | ReasoningEnd;

/** Shows messages and reasoning. `open` gives the folded item that a start has just opened. */
export function blockWriter(
  line: NumberedFrames,
  items: OutputItems,
  open: () => Item | undefined,
): { each(event: BlockEvent): void } {
  let message: MessageWriter | undefined;
  let reasoning: ReasoningWriter | undefined;
  return {
    each(event) {
      switch (event.type) {
        case "text-start":
        case "reasoning-start": {
          const item = open();
          if (item?.type === "message") message = messageWriter(line, items, item);
          if (item?.type === "reasoning") reasoning = reasoningWriter(line, items, item);
          return;
        }
        case "text-delta":
          return message?.text(event);
        case "refusal-delta":
          return message?.refusal(event);
        case "text-note":
          return message?.note(event.annotation);
        case "text-break": // The fold begins a new part with the next delta, and that shows it.
          return;
        case "text-end":
          return message?.end();
        case "reasoning-delta":
          return reasoning?.delta(event);
        case "reasoning-end":
          return reasoning?.end();
        default:
          event satisfies never;
      }
    },
  };
}

/** Shows a message while it grows. It follows the folded item, whose last part is the open one. */
type MessageWriter = {
  text(event: TextDelta): void;
  refusal(event: RefusalDelta): void;
  note(annotation: unknown): void;
  end(): void;
};

const TEXT_TAIL = `,"logprobs":[]${DELTA_TAIL}`;
const tailWith = (logprobs: NonNullable<TextDelta["logprobs"]>): string =>
  `,"logprobs":${JSON.stringify(writeLogprobs(logprobs))}${DELTA_TAIL}`;

function messageWriter(line: NumberedFrames, items: OutputItems, message: Message): MessageWriter {
  const place = items.add(message.id, "msg", (id) => opened({ ...message, parts: [] }, id));
  let part = -1;
  let where = "";
  let head = "";
  let notes = 0;

  const closePart = (): void => {
    const current = message.parts[part];
    const fields = current && writeOutputPart(current);
    if (fields === undefined) return;
    const { type, text, refusal, logprobs } = fields;
    const done =
      type === "refusal"
        ? `"refusal":${JSON.stringify(refusal)}`
        : `"text":${JSON.stringify(text)},"logprobs":${JSON.stringify(logprobs)}`;
    line.write(`response.${String(type)}.done`, `${where},${done}`);
    line.write("response.content_part.done", `${where},"part":${JSON.stringify(fields)}`);
  };
  const openPart = (current: Part): void => {
    part++;
    notes = 0;
    where = `${place.fields},"content_index":${part}`;
    const type = current.type === "refusal" ? "refusal" : "output_text";
    head = `${frameHead(`response.${type}.delta`, where)},"delta":`;
    const blank = type === "refusal" ? { type: "refusal", text: "" } : { type: "text", text: "" };
    const fields = JSON.stringify(writeOutputPart(blank as Part));
    line.write("response.content_part.added", `${where},"part":${fields}`);
  };
  const follow = (): void => {
    // A part may have begun without a frame: with an annotation that this API has no form for.
    for (const next of message.parts.slice(part + 1)) {
      closePart();
      openPart(next);
    }
  };

  return {
    text(event) {
      follow();
      const { logprobs } = event;
      line.writeDelta(head, event, logprobs === undefined ? TEXT_TAIL : tailWith(logprobs));
    },
    refusal(event) {
      follow();
      line.writeDelta(head, event, DELTA_TAIL);
    },
    note(raw) {
      const annotation = writeAnnotation(raw);
      if (annotation === undefined) return;
      follow();
      const fields = `"annotation_index":${notes++},"annotation":${JSON.stringify(annotation)}`;
      line.write("response.output_text.annotation.added", `${where},${fields}`);
    },
    end() {
      follow();
      closePart();
      items.done(place, writeOutputItem(message, place.id) ?? {});
    },
  };
}

/** Shows reasoning while it grows: its summary and its content, paragraph by paragraph. */
type ReasoningWriter = {
  delta(event: ReasoningDelta): void;
  end(): void;
};

/** What the two sides of reasoning are called. */
const sides = {
  summary: {
    index: "summary_index",
    part: "response.reasoning_summary_part",
    text: "response.reasoning_summary_text",
    type: "summary_text",
  },
  content: {
    index: "content_index",
    part: "response.content_part",
    text: "response.reasoning_text",
    type: "reasoning_text",
  },
} as const;

function reasoningWriter(
  line: NumberedFrames,
  items: OutputItems,
  item: Reasoning,
): ReasoningWriter {
  // Clients that lay what is done over what was announced keep a status that only the latter has.
  const blank = { ...item, summary: [], content: [], status: undefined };
  const place = items.add(item.id, "rs", (id) => writeOutputItem(blank, id) ?? {});
  const paragraphs = {
    summary: paragraphWriter(line, place, item, "summary"),
    content: paragraphWriter(line, place, item, "content"),
  };
  return {
    delta: (event) => paragraphs[event.of].delta(event),
    end() {
      paragraphs.summary.end();
      paragraphs.content.end();
      items.done(place, writeOutputItem(item, place.id) ?? {});
    },
  };
}

function paragraphWriter(
  line: NumberedFrames,
  place: OutputPosition,
  item: Reasoning,
  side: keyof typeof sides,
) {
  const words = sides[side];
  let open = -1;
  const where = (part: number): string => `${place.fields},"${words.index}":${part}`;
  const headOf = (part: number): string =>
    `${frameHead(`${words.text}.delta`, where(part))},"delta":`;
  let head = "";

  const close = (): void => {
    if (open === -1) return;
    const text = JSON.stringify(item[side][open] ?? "");
    line.write(`${words.text}.done`, `${where(open)},"text":${text}`);
    line.write(
      `${words.part}.done`,
      `${where(open)},"part":{"type":"${words.type}","text":${text}}`,
    );
  };
  const openPart = (part: number): void => {
    close();
    open = part;
    head = headOf(open);
    line.write(`${words.part}.added`, `${where(open)},"part":{"type":"${words.type}","text":""}`);
  };
  return {
    delta(event: ReasoningDelta): void {
      const { part } = event;
      for (let next = open + 1; next <= part; next++) openPart(next);
      line.writeDelta(part === open ? head : headOf(part), event, DELTA_TAIL);
    },
    end: close,
  };
}

/** An item as it is announced, without content. */
const opened = (item: Message, id: string): Fields => ({
  ...writeOutputItem(item, id),
  status: "in_progress",
});
