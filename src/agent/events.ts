import type { Decision } from "../turn/decision.ts";
import type { StopReason, Usage } from "../turn/event.ts";
import type { Fault } from "../turn/fault.ts";
import type { Call } from "../turn/turn.ts";
import type { ReadSectionResult } from "./catalog.ts";
import type { OpenedBy, ToolsInjected, Visibility } from "./session.ts";
import type { Strategy } from "./strategy.ts";

/**
 * Progress of a run. The last event is `run-end` or `run-fail`. Events between
 * `round-start` and `round-end` belong to one request to the model.
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
  /** A request or an answer was changed. Each decision is reported once in a run. */
  | { readonly type: "decision-made"; readonly decision: Decision }
  | ToolsInjected
  /** A tool of a section was omitted because another tool has its name. */
  | { readonly type: "tool-skipped"; readonly toolName: string }
  /** `input`: the arguments, as JSON text. */
  | {
      readonly type: "tool-start";
      readonly callId: string;
      readonly name: string;
      readonly input: string;
    }
  /** `output`: the result that the model receives. */
  | {
      readonly type: "tool-end";
      readonly callId: string;
      readonly name: string;
      readonly success: boolean;
      readonly output: string;
    }
  | VisibilityExpansionRequired
  /** `isHidden`: the model only opened sections. */
  | {
      readonly type: "round-end";
      readonly round: number;
      readonly stop: StopReason;
      readonly usage: Usage | undefined;
      readonly isHidden: boolean;
    }
  | { readonly type: "run-end"; readonly result: RunResult<Output> }
  | { readonly type: "run-fail"; readonly fault: Fault };

/** The model read a section with `read_section`. The section may have been open. */
export type SectionRead = {
  readonly type: "section-read";
  readonly callId: string;
  readonly path: string;
  readonly result: ReadSectionResult;
};

/** The model opened a section with tools and tools are fixed: the conversation restarts with all its items. */
export type VisibilityExpansionRequired = {
  readonly type: "visibility-expansion-required";
  readonly requestedOverrides: Readonly<Record<string, Visibility>>;
  readonly reason: string;
  readonly sectionKeys: readonly string[];
};

/** Result of a run. */
export type RunResult<Output = unknown> = {
  /** The model's last text. */
  readonly text: string;
  /** The value of the text by the agent's `output`; without that, the text. */
  readonly output: Output;
  /** `calls`: the caller runs `pending` and runs the agent again with `results`. */
  readonly stop: StopReason;
  readonly pending: readonly Call[];
  readonly strategy: Strategy;
  /** Total of all requests to the model. */
  readonly usage: Usage;
  readonly rounds: number;
  readonly restarts: number;
};

/** A log line. It never contains prompts, arguments or results. */
export type LogLine = {
  readonly level: "info" | "warning";
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
};

/** Receives log lines and counts about sections and tools. */
export type Observer = {
  readonly log?: ((line: LogLine) => void) | undefined;
  readonly count?: ((name: CounterName, by: number) => void) | undefined;
};

/** All counters. The `wink` names come from the specification of progressive disclosure. */
export const counters = {
  "wink.tools.injected": "Tools that were added to a running conversation.",
  "wink.disclosure.dynamic": "Sections with tools that were opened without a restart.",
  "wink.disclosure.restarts": "Conversations that restarted for a section with tools.",
  "patchbay.disclosure.opened": "Sections that were opened.",
  "patchbay.disclosure.unknown": "Readings of sections that do not exist.",
  "patchbay.disclosure.hidden_rounds": "Requests that the model answered only with readings.",
  "patchbay.disclosure.skipped": "Tools that were omitted because another tool has their name.",
} as const satisfies Record<string, string>;

type CounterName = keyof typeof counters;

/** Reports an event to an observer. */
export function observe({ log, count }: Observer, event: AgentEvent): void {
  switch (event.type) {
    case "tools-injected": {
      const { sectionKey: section_key, toolNames: tool_names } = event;
      count?.("wink.tools.injected", tool_names.length);
      count?.("wink.disclosure.dynamic", 1);
      const fields = { section_key, tool_count: tool_names.length, tool_names };
      return log?.({ level: "info", message: "Injected tools from section expansion", fields });
    }
    case "visibility-expansion-required": {
      const { sectionKeys: section_keys, reason } = event;
      count?.("wink.disclosure.restarts", 1);
      const message = "Restarting with expanded sections";
      return log?.({ level: "info", message, fields: { section_keys, reason } });
    }
    case "tool-skipped": {
      count?.("patchbay.disclosure.skipped", 1);
      const message = "Skipping duplicate tool during injection";
      return log?.({ level: "warning", message, fields: { tool_name: event.toolName } });
    }
    case "section-opened":
      return count?.("patchbay.disclosure.opened", 1);
    case "section-unknown":
      return count?.("patchbay.disclosure.unknown", 1);
    case "round-end":
      return event.isHidden ? count?.("patchbay.disclosure.hidden_rounds", 1) : undefined;
    default:
  }
}
