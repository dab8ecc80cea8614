import type { Decision } from "../turn/decision.ts";
import type { StopReason, Usage } from "../turn/event.ts";
import type { Fault } from "../turn/fault.ts";
import type { Call } from "../turn/turn.ts";
import type { ReadSectionResult } from "./read.ts";
import type { OpenedBy, ToolsInjected, Visibility } from "./session.ts";
import type { Strategy } from "./strategy.ts";

/**
 * What happens while an agent runs. The last event is `run-end` or `run-fail`.
 * Events between `round-start` and `round-end` are of one question to the model.
 */
export type AgentEvent<Output = unknown> =
  | {
      readonly type: "run-start";
      readonly agent: string;
      readonly adapter: string;
      readonly strategy: Strategy;
    }
  | { readonly type: "round-start"; readonly round: number }
  | { readonly type: "text-delta" | "reasoning-delta" | "refusal-delta"; readonly text: string }
  | SectionRead
  | { readonly type: "section-opened"; readonly path: string; readonly by: OpenedBy }
  | { readonly type: "section-unknown"; readonly message: string }
  /** Something was changed in a question or an answer; told once in a run. */
  | { readonly type: "decision-made"; readonly decision: Decision }
  | ToolsInjected
  | ToolSkipped
  | ToolStarted
  | ToolEnded
  | VisibilityExpansionRequired
  | RoundEnded
  | { readonly type: "run-end"; readonly result: RunResult<Output> }
  | { readonly type: "run-fail"; readonly fault: Fault };

/** The model read a section with `read_section`, also one that was open already. */
export type SectionRead = {
  readonly type: "section-read";
  readonly callId: string;
  readonly path: string;
  readonly result: ReadSectionResult;
};

export type ToolStarted = {
  readonly type: "tool-start";
  readonly callId: string;
  readonly name: string;
  /** The arguments, as JSON text. */
  readonly input: string;
};

export type ToolEnded = {
  readonly type: "tool-end";
  readonly callId: string;
  readonly name: string;
  readonly success: boolean;
  /** What the model is told. */
  readonly output: string;
};

/** A tool of a section was left out because another has its name. */
export type ToolSkipped = {
  readonly type: "tool-skipped";
  readonly toolName: string;
};

/** A section with tools was asked for where tools are fixed: the conversation begins anew, with all that was said. */
export type VisibilityExpansionRequired = {
  readonly type: "visibility-expansion-required";
  readonly requestedOverrides: Readonly<Record<string, Visibility>>;
  readonly reason: string;
  readonly sectionKeys: readonly string[];
};

export type RoundEnded = {
  readonly type: "round-end";
  readonly round: number;
  readonly stop: StopReason;
  readonly usage: Usage | undefined;
  /** Whether the model did nothing but open sections. */
  readonly isHidden: boolean;
};

/** What a run came to. */
export type RunResult<Output = unknown> = {
  /** What the model said last. */
  readonly text: string;
  /** The same as the agent's `output` asks for it; the text itself where it asks for nothing. */
  readonly output: Output;
  /** `calls`: the caller is to run `pending` and run the agent again with `results`. */
  readonly stop: StopReason;
  readonly pending: readonly Call[];
  readonly strategy: Strategy;
  /** Of all questions to the model. */
  readonly usage: Usage;
  readonly rounds: number;
  readonly restarts: number;
};
