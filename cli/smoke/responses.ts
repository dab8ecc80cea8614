import { type Fields, fieldsIn, fieldsOf, filledText, listOf } from "../../src/terminal.ts";
import { responses } from "../../src/inspection.ts";
import {
  errorText,
  figuresIn,
  type Figures,
  type StreamPiece,
  type AnswerSummary,
  type SeenCall,
  type SmokeClient,
} from "./seen.ts";

const terminals = new Set(["response.completed", "response.incomplete", "response.failed"]);

export const responsesClient: SmokeClient = {
  door: responses.name,
  path: responses.door.routes[0],
  body: ({ model, stream, prompt, tool }) => ({
    model,
    stream,
    store: false,
    input: prompt,
    tools: [{ type: "function", ...tool }],
  }),
  readBody: readResponsesBody,
  readStream: readResponsesStream,
  finish: "completed",
  callsAlone: false,
};

/** Reads a whole response. */
export function readResponsesBody(body: Fields | undefined): Omit<AnswerSummary, "figures"> {
  const output = (listOf(body?.output) ?? []).map((item) => fieldsOf(item) ?? {});
  const problems = listOf(body?.output) === undefined ? ["the answer has no output"] : [];
  return {
    calls: output.filter(isCall).map(callOf),
    text: output.map(textIn).join(""),
    finish: filledText(body?.status) ?? "",
    problems,
  };
}

const isCall = (item: Fields): boolean => item.type === "function_call";

const callOf = (item: Fields): SeenCall => ({
  id: filledText(item.call_id) ?? "",
  name: filledText(item.name) ?? "",
  arguments: filledText(item.arguments) ?? "",
});

function textIn(item: Fields): string {
  if (item.type !== "message") return "";
  const parts = (listOf(item.content) ?? []).map((part) => fieldsOf(part));
  return parts.map((part) => filledText(part?.text) ?? "").join("");
}

/** Reads a Responses stream and notes whatever a strict client would stumble over. */
export function readResponsesStream(pieces: readonly StreamPiece[]): AnswerSummary {
  const reading = new ResponsesReading();
  for (const one of pieces)
    if (one.type === "comment") reading.comment(one.text);
    else reading.frame(one.data);
  return reading.over();
}

class ResponsesReading {
  /** Each is told once, however often it is met. */
  readonly #problems = new Set<string>();
  readonly #added = new Set<string>();
  readonly #closed: SeenCall[] = [];
  readonly #grown = new Map<string, string>();
  #next = 0;
  #terminal: Fields | undefined;
  #figures: Figures | undefined;
  #done = false;

  comment(text: string): void {
    const figures = figuresIn(text);
    if (figures === undefined) return;
    if (this.#figures !== undefined) this.#problems.add("the statistics comment comes twice");
    if (this.#terminal === undefined)
      this.#problems.add("the statistics comment comes before the terminal");
    if (this.#done) this.#problems.add("the statistics comment comes after [DONE]");
    this.#figures = figures;
  }

  frame(data: string): void {
    if (this.#done) return void this.#problems.add("something follows [DONE]");
    if (data === "[DONE]") return void (this.#done = true);
    const event = fieldsIn(data);
    if (event === undefined) return void this.#problems.add("a frame is not JSON");
    if (this.#terminal !== undefined) this.#problems.add("an event follows the terminal");
    if (event.sequence_number !== this.#next)
      this.#problems.add(
        `sequence number ${JSON.stringify(event.sequence_number)} stands where ${this.#next} is next`,
      );
    this.#next++;
    this.#event(event);
  }

  #event(event: Fields): void {
    const type = filledText(event.type) ?? "";
    const item = fieldsOf(event.item);
    const itemId = filledText(event.item_id) ?? "";
    if (terminals.has(type)) this.#terminal = event;
    else if (type === "error") this.#problems.add(`the stream failed: ${errorText(event)}`);
    else if (type === "response.output_item.added") this.#added.add(filledText(item?.id) ?? "");
    else if (type === "response.function_call_arguments.delta")
      this.#grown.set(itemId, (this.#grown.get(itemId) ?? "") + (filledText(event.delta) ?? ""));
    else if (type === "response.output_item.done" && item !== undefined) this.#close(item);
  }

  #close(item: Fields): void {
    const id = filledText(item.id) ?? "";
    if (!this.#added.has(id)) this.#problems.add(`item ${id} is done and was never added`);
    if (!isCall(item)) return;
    const call = callOf(item);
    const grown = this.#grown.get(id);
    if (grown !== undefined && grown !== call.arguments)
      this.#problems.add(`the deltas of call ${call.id} do not add up to its arguments`);
    this.#closed.push(call);
  }

  over(): AnswerSummary {
    if (!this.#done) this.#problems.add("the stream ends without [DONE]");
    const response = fieldsOf(this.#terminal?.response);
    if (response === undefined) {
      const problems = [...this.#problems, "the stream has no terminal event"];
      return { calls: this.#closed, text: "", finish: "", figures: this.#figures, problems };
    }
    const whole = readResponsesBody(response);
    if (JSON.stringify(whole.calls) !== JSON.stringify(this.#closed))
      this.#problems.add("the response at the end has other calls than the stream");
    const problems = [...this.#problems, ...whole.problems];
    return { ...whole, calls: this.#closed, figures: this.#figures, problems };
  }
}
