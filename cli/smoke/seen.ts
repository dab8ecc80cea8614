import {
  type DialectName,
  type Fields,
  fieldsIn,
  filledText,
  numberOf,
} from "../../src/terminal.ts";

export type SeenCall = { readonly id: string; readonly name: string; readonly arguments: string };

/** What a gateway tells of a turn's calls beside the answer. */
export type Figures = {
  readonly count: number;
  readonly truncated: boolean;
  readonly mode: string;
};

/** What one answer showed. */
export type AnswerSummary = {
  readonly calls: readonly SeenCall[];
  readonly text: string;
  /** In the words of its dialect. */
  readonly finish: string;
  readonly figures: Figures | undefined;
  /** What is wrong with it. */
  readonly problems: readonly string[];
};

/** How a client of one door asks for a burst and reads what comes. */
export type SmokeClient = {
  readonly door: DialectName;
  readonly path: string;
  body(asking: Asking): Fields;
  readBody(body: Fields | undefined): Omit<AnswerSummary, "figures">;
  readStream(pieces: readonly StreamPiece[]): AnswerSummary;
  /** How an answer with calls ends, in the words of its dialect. */
  readonly finish: string;
  /** Whether a whole answer with calls has no text beside them. */
  readonly callsAlone: boolean;
};

export type Asking = {
  readonly model: string;
  readonly stream: boolean;
  readonly prompt: string;
  readonly tool: Fields;
};

/** One thing a stream said. */
export type StreamPiece =
  | { readonly type: "frame"; readonly data: string }
  | { readonly type: "comment"; readonly text: string };

/** What a whole answer tells in its head. */
export function figuresInHead(head: Headers): Figures | undefined {
  const count = head.get("x-codex-tool-call-count");
  const truncated = head.get("x-codex-tool-call-truncated");
  const mode = head.get("x-codex-stop-after-tools-mode");
  if (count === null || !/^\d+$/.test(count) || mode === null) return undefined;
  if (truncated !== "true" && truncated !== "false") return undefined;
  return { count: Number(count), truncated: truncated === "true", mode };
}

/** What a comment of a stream tells; other comments only keep a connection alive. */
export function figuresIn(comment: string): Figures | undefined {
  const fields = fieldsIn(comment);
  const count = numberOf(fields?.tool_call_count);
  const mode = filledText(fields?.stop_after_tools_mode);
  const truncated = fields?.tool_call_truncated;
  if (count === undefined || mode === undefined || typeof truncated !== "boolean") return undefined;
  return { count, truncated, mode };
}

/** The message of an error body, or of an error in a stream. */
export function errorText(fields: Fields | undefined): string {
  const error = fields?.error;
  const inner = typeof error === "object" && error !== null ? (error as Fields) : fields;
  const words = [filledText(inner?.code), filledText(inner?.message) ?? filledText(error)];
  return words.filter((word) => word !== undefined).join(": ") || "no reason was given";
}
