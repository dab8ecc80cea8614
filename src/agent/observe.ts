import type { AgentEvent } from "./events.ts";

/** A line for a log: no content of prompts, arguments or results. */
export type LogLine = {
  readonly level: "info" | "warning";
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
};

/** Hears what happens to sections and tools. */
export type Observer = {
  readonly log?: ((line: LogLine) => void) | undefined;
  readonly count?: ((name: CounterName, by: number) => void) | undefined;
};

/** Everything that is counted. Those of `wink` have the names of the specification they come from. */
export const counters = {
  "wink.tools.injected": "Tools that were added to a conversation under way.",
  "wink.disclosure.dynamic": "Sections with tools that were opened without a restart.",
  "wink.disclosure.restarts": "Conversations that began anew for a section with tools.",
  "patchbay.disclosure.opened": "Sections that were opened.",
  "patchbay.disclosure.unknown": "Readings of sections that are not there.",
  "patchbay.disclosure.hidden_rounds": "Questions to a model that it answered with readings alone.",
  "patchbay.disclosure.skipped": "Tools that were left out because another had their name.",
} as const satisfies Record<string, string>;

export type CounterName = keyof typeof counters;

/** Tells an observer what an event means to it. */
export function observe({ log, count }: Observer, event: AgentEvent): void {
  switch (event.type) {
    case "tools-injected": {
      const { sectionKey, toolNames } = event;
      count?.("wink.tools.injected", toolNames.length);
      count?.("wink.disclosure.dynamic", 1);
      const fields = {
        section_key: sectionKey,
        tool_count: toolNames.length,
        tool_names: toolNames,
      };
      return log?.({ level: "info", message: "Injected tools from section expansion", fields });
    }
    case "visibility-expansion-required": {
      const { sectionKeys, reason } = event;
      count?.("wink.disclosure.restarts", 1);
      const fields = { section_keys: sectionKeys, reason };
      return log?.({ level: "info", message: "Restarting with expanded sections", fields });
    }
    case "tool-skipped": {
      count?.("patchbay.disclosure.skipped", 1);
      const fields = { tool_name: event.toolName };
      return log?.({
        level: "warning",
        message: "Skipping duplicate tool during injection",
        fields,
      });
    }
    case "section-opened":
      return count?.("patchbay.disclosure.opened", 1);
    case "section-unknown":
      return count?.("patchbay.disclosure.unknown", 1);
    case "round-end":
      if (event.isHidden) count?.("patchbay.disclosure.hidden_rounds", 1);
      return;
    default:
  }
}
