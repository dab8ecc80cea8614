import { messages } from "../../src/inspection.ts";
import { type Fields, fieldsIn, fieldsOf, filledText, listOf } from "../../src/terminal.ts";
import {
  errorText,
  figuresIn,
  type Figures,
  type StreamPiece,
  type AnswerSummary,
  type SmokeClient,
} from "./seen.ts";

/** A minimal client of the Messages door. */
export const messagesClient: SmokeClient = {
  door: messages.name,
  path: messages.door.routes[0],
  body: ({ model, stream, prompt, tool }) => {
    const { name, description, parameters } = tool;
    return {
      model,
      stream,
      max_tokens: 4096,
      messages: [{ role: "user", content: prompt }],
      tools: [{ name, description, input_schema: parameters }],
    };
  },
  readBody: readMessage,
  readStream: readMessagesStream,
  finish: "tool_use",
  callsAlone: false,
};

/** Reads a whole message. */
function readMessage(body: Fields | undefined): Omit<AnswerSummary, "figures"> {
  const content = listOf(body?.content);
  if (body?.type !== "message" || content === undefined)
    return { calls: [], text: "", finish: "", problems: ["the answer is no message"] };
  const blocks = content.map((block) => fieldsOf(block) ?? {});
  return {
    calls: blocks.filter(({ type }) => type === "tool_use").map(callIn),
    text: blocks.map(({ text }) => filledText(text) ?? "").join(""),
    finish: filledText(body.stop_reason) ?? "",
    problems: [],
  };
}

const callIn = ({ id, name, input }: Fields) => ({
  id: filledText(id) ?? "",
  name: filledText(name) ?? "",
  arguments: JSON.stringify(input),
});

/** Reads a Messages stream and notes whatever a strict client would stumble over. */
function readMessagesStream(said: readonly StreamPiece[]): AnswerSummary {
  const reading = new MessagesReading();
  for (const one of said)
    if (one.type === "comment") reading.comment(one.text);
    else reading.frame(one.data);
  return reading.over();
}

type OpenBlock = { readonly type: unknown; id: string; name: string; input: string };

class MessagesReading {
  readonly #flaws = new Set<string>();
  readonly #calls: { id: string; name: string; arguments: string }[] = [];
  #open: OpenBlock | undefined;
  #blocks = 0;
  #text = "";
  #finish = "";
  #figures: Figures | undefined;
  #started = false;
  #over = false;

  comment(text: string): void {
    this.#figures = figuresIn(text) ?? this.#figures;
  }

  frame(data: string): void {
    const event = fieldsIn(data);
    if (event === undefined) return void this.#flaws.add("a frame is not JSON");
    if (this.#over) return void this.#flaws.add("something follows the end");
    if (!this.#started && event.type !== "message_start")
      this.#flaws.add("something is said before message_start");
    switch (event.type) {
      case "message_start":
        if (this.#started) this.#flaws.add("message_start comes twice");
        this.#started = true;
        return;
      case "content_block_start":
        return this.#begin(event);
      case "content_block_delta":
        return this.#delta(event);
      case "content_block_stop":
        return this.#stop();
      case "message_delta":
        this.#finish = filledText(fieldsOf(event.delta)?.stop_reason) ?? "";
        return;
      case "message_stop":
        this.#over = true;
        return;
      case "error":
        return void this.#flaws.add(`the stream failed: ${errorText(event)}`);
      default:
    }
  }

  #begin({ index, content_block }: Fields): void {
    if (this.#open !== undefined) this.#flaws.add("a block begins within another");
    if (index !== this.#blocks)
      this.#flaws.add(`a block has index ${JSON.stringify(index)} where ${this.#blocks} is next`);
    this.#blocks++;
    const { type, id, name } = fieldsOf(content_block) ?? {};
    this.#open = { type, id: filledText(id) ?? "", name: filledText(name) ?? "", input: "" };
  }

  #delta({ index, delta }: Fields): void {
    if (this.#open === undefined || index !== this.#blocks - 1)
      return void this.#flaws.add("a delta is of no open block");
    const { text, partial_json } = fieldsOf(delta) ?? {};
    this.#text += filledText(text) ?? "";
    this.#open.input += filledText(partial_json) ?? "";
  }

  #stop(): void {
    const block = this.#open;
    if (block === undefined) return void this.#flaws.add("a block ends that is not open");
    this.#open = undefined;
    if (block.type === "tool_use")
      this.#calls.push({ id: block.id, name: block.name, arguments: block.input });
  }

  over(): AnswerSummary {
    if (!this.#over) this.#flaws.add("the stream ends without message_stop");
    return {
      calls: this.#calls,
      text: this.#text,
      finish: this.#finish,
      figures: this.#figures,
      problems: [...this.#flaws],
    };
  }
}
