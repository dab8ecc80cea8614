import {
  type Fields,
  fieldsIn,
  fieldsOf,
  filledText,
  listOf,
  numberOf,
} from "../../src/terminal.ts";
import { chat } from "../../src/inspection.ts";
import {
  errorText,
  figuresIn,
  type Figures,
  type StreamPiece,
  type AnswerSummary,
  type SeenCall,
  type SmokeClient,
} from "./seen.ts";

export const chatClient: SmokeClient = {
  door: chat.name,
  path: chat.door.routes[0],
  body: ({ model, stream, prompt, tool }) => ({
    model,
    stream,
    ...(stream && { stream_options: { include_usage: true } }),
    messages: [{ role: "user", content: prompt }],
    tools: [{ type: "function", function: tool }],
  }),
  readBody: readChatBody,
  readStream: readChatStream,
  finish: "tool_calls",
  callsAlone: true,
};

/** Reads a whole chat completion. */
export function readChatBody(body: Fields | undefined): Omit<AnswerSummary, "figures"> {
  const choice = fieldsOf(listOf(body?.choices)?.[0]);
  const message = fieldsOf(choice?.message);
  if (message === undefined)
    return { calls: [], text: "", finish: "", problems: ["the answer has no message"] };
  const calls = (listOf(message.tool_calls) ?? []).map((entry) => {
    const called = fieldsOf(fieldsOf(entry)?.function);
    return {
      id: filledText(fieldsOf(entry)?.id) ?? "",
      name: filledText(called?.name) ?? "",
      arguments: filledText(called?.arguments) ?? "",
    };
  });
  return {
    calls,
    text: filledText(message.content) ?? "",
    finish: filledText(choice?.finish_reason) ?? "",
    problems: [],
  };
}

/** Reads a chat stream and notes whatever a strict client would stumble over. */
export function readChatStream(pieces: readonly StreamPiece[]): AnswerSummary {
  const reading = new ChatReading();
  for (const one of pieces)
    if (one.type === "comment") reading.comment(one.text);
    else reading.frame(one.data);
  return reading.over();
}

type Growing = { id: string; name: string; arguments: string };

class ChatReading {
  /** Each is told once, however often it is met. */
  readonly #problems = new Set<string>();
  readonly #calls: Growing[] = [];
  readonly #finishes: string[] = [];
  #text = "";
  #roles = 0;
  #figures: Figures | undefined;
  #counted = false;
  #done = false;

  comment(text: string): void {
    const figures = figuresIn(text);
    if (figures === undefined) return;
    if (this.#figures !== undefined) this.#problems.add("the statistics comment comes twice");
    if (this.#finishes.length === 0)
      this.#problems.add("the statistics comment comes before the finish");
    if (this.#counted) this.#problems.add("the statistics comment comes after the usage");
    if (this.#done) this.#problems.add("the statistics comment comes after [DONE]");
    this.#figures = figures;
  }

  frame(data: string): void {
    if (this.#done) return void this.#problems.add("something follows [DONE]");
    if (data === "[DONE]") return void (this.#done = true);
    const chunk = fieldsIn(data);
    if (chunk === undefined) return void this.#problems.add("a frame is not JSON");
    if (chunk.error !== undefined)
      return void this.#problems.add(`the stream failed: ${errorText(chunk)}`);
    const choice = fieldsOf(listOf(chunk.choices)?.[0]);
    if (choice === undefined) this.#counted ||= fieldsOf(chunk.usage) !== undefined;
    else this.#choice(choice);
  }

  #choice(choice: Fields): void {
    const delta = fieldsOf(choice.delta) ?? {};
    const entries = listOf(delta.tool_calls) ?? [];
    const words = filledText(delta.content) ?? "";
    if (this.#finishes.length > 0 && (entries.length > 0 || words !== ""))
      this.#problems.add("something is said after the finish");
    if (delta.role !== undefined) this.#roles++;
    else if (this.#roles === 0 && (entries.length > 0 || words !== ""))
      this.#problems.add("something is said before the role");
    this.#text += words;
    for (const entry of entries) this.#fragment(fieldsOf(entry) ?? {});
    const finish = filledText(choice.finish_reason);
    if (finish !== undefined) this.#finishes.push(finish);
  }

  #fragment(entry: Fields): void {
    const { index } = entry;
    const called = fieldsOf(entry.function);
    const [id, name] = [filledText(entry.id), filledText(called?.name)];
    const piece = filledText(called?.arguments) ?? "";
    const call = this.#calls[numberOf(index) ?? -1];
    if (call === undefined) {
      if (index !== this.#calls.length)
        this.#problems.add(
          `a call has index ${JSON.stringify(index)} where ${this.#calls.length} is next`,
        );
      this.#calls.push({ id: id ?? "", name: name ?? "", arguments: piece });
      return;
    }
    if ((id ?? call.id) !== call.id || (name ?? call.name) !== call.name)
      this.#problems.add(`call ${JSON.stringify(index)} changes its id or name`);
    call.arguments += piece;
  }

  over(): AnswerSummary {
    const calls: readonly SeenCall[] = this.#calls;
    if (this.#finishes.length > 1) this.#problems.add("the finish comes more than once");
    if (!this.#done) this.#problems.add("the stream ends without [DONE]");
    return {
      calls,
      text: this.#text,
      finish: this.#finishes[0] ?? "",
      figures: this.#figures,
      problems: [...this.#problems],
    };
  }
}
