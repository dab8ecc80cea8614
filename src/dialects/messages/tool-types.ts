/** A family of tools that the provider defines. Its versions are data: a date behind the name. */
export type ToolFamily = {
  /** The kind that it is to us. */
  readonly kind: string;
  /** What calls of it are named where the declaration does not say. */
  readonly name?: string | undefined;
};

const families: ReadonlyMap<string, ToolFamily> = new Map(
  Object.entries({
    bash: { kind: "bash", name: "bash" },
    text_editor: { kind: "text_editor", name: "str_replace_based_edit_tool" },
    memory: { kind: "memory", name: "memory" },
    computer: { kind: "computer", name: "computer" },
    computer_toolset: { kind: "computer_toolset" },
    browser_toolset: { kind: "browser_toolset" },
    web_search: { kind: "web_search", name: "web_search" },
    web_fetch: { kind: "web_fetch", name: "web_fetch" },
    code_execution: { kind: "code_execution", name: "code_execution" },
    tool_search_tool_regex: { kind: "tool_search_tool", name: "tool_search_tool_regex" },
    tool_search_tool_bm25: { kind: "tool_search_tool", name: "tool_search_tool_bm25" },
    mcp_toolset: { kind: "mcp_toolset" },
    advisor: { kind: "advisor", name: "advisor" },
  } satisfies Record<string, ToolFamily>),
);

/** What a tool of a type is; one that we do not know is a kind of its own. */
export function familyOf(type: string): ToolFamily {
  const [, family = type] = /^(.+)_\d{8}$/.exec(type) ?? [];
  return families.get(family) ?? { kind: type };
}

/** Whether it finds deferred tools at the provider, so that no client has to. */
export const isSearch = (kind: string): boolean => kind === "tool_search_tool";
