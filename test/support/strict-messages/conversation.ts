import type { Body } from "../fake-upstream.ts";
import type { StrictModel } from "./models.ts";
import { blocksOf, listOf, refuse } from "./refuse.ts";

const blockTypes: Readonly<Record<string, readonly string[]>> = {
  user: ["text", "image", "document", "search_result", "tool_result", "container_upload"],
  assistant: [
    "text",
    "tool_use",
    "thinking",
    "redacted_thinking",
    "server_tool_use",
    "web_search_tool_result",
    "web_fetch_tool_result",
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
    "mcp_tool_use",
    "mcp_tool_result",
  ],
  system: ["text", "tool_addition", "tool_removal"],
};

/** Roles, their order, what messages hold, and that every call has its result right behind it. */
export function checkConversation(body: Body, model: StrictModel): void {
  const messages = listOf(body["messages"]);
  if (messages.length === 0) refuse("messages: at least one message is required");
  checkText(blocksOf(body["system"]), "system");
  for (const block of blocksOf(body["system"]))
    if (block["type"] !== "text") refuse("system: Input should be a valid list of text blocks");
  messages.forEach((message, at) => checkMessage(message, at, messages.length));
  checkOrder(messages, model);
  checkPairs(messages);
  checkEnd(messages.at(-1) ?? {}, body, model);
  checkMarks(body);
}

function checkMessage(message: Body, at: number, count: number): void {
  const { role, content } = message;
  const types = blockTypes[role as string];
  if (types === undefined)
    return refuse(`messages.${at}.role: Input should be 'user' or 'assistant'`);
  if (message["name"] !== undefined) refuse(`messages.${at}.name: Extra inputs are not permitted`);
  const blocks = blocksOf(content);
  const isFinal = at === count - 1 && role === "assistant";
  const hasEffort = role === "system" && message["output_config"] !== undefined;
  if (blocks.length === 0 && !isFinal && !hasEffort)
    refuse(
      "all messages must have non-empty content except for the optional final assistant message",
    );
  for (const [index, block] of blocks.entries()) {
    const path = `messages.${at}.content.${index}`;
    if (!types.includes(block["type"] as string))
      refuse(
        `${path}: Input tag '${String(block["type"])}' found using 'type' does not match any of the expected tags`,
      );
    checkBlock(block, path);
  }
  checkText(blocks, `messages.${at}`);
}

function checkBlock(block: Body, path: string): void {
  const { type } = block;
  if (type === "image" || type === "document") return checkSource(block, path);
  if (type === "tool_use") {
    if (!/^[a-zA-Z0-9_-]+$/.test(String(block["id"])))
      refuse(`${path}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`);
    if (!/^[a-zA-Z0-9_-]{1,128}$/.test(String(block["name"])))
      refuse(`${path}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`);
    const { input } = block;
    if (typeof input !== "object" || input === null || Array.isArray(input))
      refuse(`${path}.tool_use.input: Input should be a valid dictionary`);
  }
  if (type !== "tool_result") return;
  const inner = blocksOf(block["content"]);
  for (const [at, one] of inner.entries()) {
    const where = `${path}.content.${at}`;
    if (
      !["text", "image", "document", "search_result", "tool_reference"].includes(
        one["type"] as string,
      )
    )
      refuse(
        `${where}: Input tag '${String(one["type"])}' found using 'type' does not match any of the expected tags`,
      );
    checkBlock(one, where);
  }
  if (Array.isArray(block["content"])) checkText(inner, path);
}

function checkSource(block: Body, path: string): void {
  const source = (block["source"] ?? {}) as Body;
  const images = ["image/jpeg", "image/png", "image/gif", "image/webp"];
  const lawful = block["type"] === "image" ? images : ["application/pdf"];
  if (source["type"] === "base64") {
    if (!lawful.includes(source["media_type"] as string))
      refuse(`${path}.source.base64.media_type: Input should be ${lawful.join(", ")}`);
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(String(source["data"])))
      refuse(`${path}.source.base64: invalid base64 data`);
    if (String(source["data"]).length * 0.75 > 5 * 1024 * 1024)
      refuse(`${path}.source.base64: image exceeds 5 MB maximum`);
    return;
  }
  if (source["type"] === "text" && block["type"] === "document") {
    if (source["media_type"] !== "text/plain")
      refuse(`${path}.source.text.media_type: Input should be 'text/plain'`);
    if (String(source["data"]).trim() === "") refuse(`${path}.source.text.data: must be non-empty`);
    return;
  }
  if (source["type"] === "url") {
    if (!/^https?:\/\//.test(String(source["url"])))
      refuse(`${path}.source.url: Only HTTPS URLs are supported.`);
    return;
  }
  if (source["type"] === "file" && typeof source["file_id"] === "string") return;
  if (source["type"] === "content" && block["type"] === "document") return;
  refuse(`${path}.source: Input should be a valid source`);
}

function checkText(blocks: readonly Body[], path: string): void {
  for (const block of blocks) {
    if (block["type"] !== "text") continue;
    if (typeof block["text"] !== "string") refuse(`${path}.text: Input should be a valid string`);
    if (block["text"] === "") refuse(`${path}: text content blocks must be non-empty`);
    if (block["text"].trim() === "")
      refuse(`${path}: text content blocks must contain non-whitespace text`);
  }
}

function checkOrder(messages: readonly Body[], model: StrictModel): void {
  const roles = messages.map(({ role }) => role as string);
  if (roles[0] === "system")
    refuse("messages.0: use the top-level 'system' parameter for the initial system prompt");
  if (roles[0] !== "user") refuse('messages: first message must use the "user" role');
  roles.forEach((role, at) => {
    if (role === "system") {
      if (!model.lateSystem) refuse("role 'system' is not supported on this model");
      if (roles[at - 1] !== "user")
        refuse(`messages.${at}: role 'system' must follow a user message`);
      if (roles[at + 1] === "user" || roles[at + 1] === "system")
        refuse(`messages.${at}: role 'system' must be last or before an assistant message`);
    }
    if (role === roles[at - 1]) refuse("messages: roles must alternate between user and assistant");
    if (role === "assistant" && at > 0 && !["user", "system"].includes(roles[at - 1] ?? ""))
      refuse("messages: roles must alternate between user and assistant");
  });
}

function checkPairs(messages: readonly Body[]): void {
  const seen = new Set<string>();
  messages.forEach((message, at) => {
    const blocks = blocksOf(message["content"]);
    const called = blocks.filter(({ type }) => type === "tool_use").map(({ id }) => id as string);
    for (const id of called) {
      if (seen.has(id)) refuse(`messages.${at}: \`tool_use\` ids must be unique`);
      seen.add(id);
    }
    const before = blocksOf(messages[at - 1]?.["content"])
      .filter(({ type }) => type === "tool_use")
      .map(({ id }) => id as string);
    const results = blocks.filter(({ type }) => type === "tool_result");
    const answered = results.map(({ tool_use_id }) => tool_use_id as string);
    for (const id of answered)
      if (!before.includes(id))
        refuse(`messages.${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}`);
    if (new Set(answered).size < answered.length)
      refuse(`messages.${at}: each tool_use must have a single result`);
    const missing = before.filter((id) => !answered.includes(id));
    if (missing.length > 0)
      refuse(
        `messages.${at - 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(", ")}`,
      );
    if (blocks.slice(0, results.length).some(({ type }) => type !== "tool_result"))
      refuse(
        `messages.${at}: Did not find ${results.length} \`tool_result\` block(s) at the beginning of this message`,
      );
  });
}

function checkEnd(last: Body, body: Body, model: StrictModel): void {
  if (last["role"] !== "assistant") return;
  const final = blocksOf(last["content"]).at(-1) ?? {};
  if (final["type"] === "tool_use")
    refuse("`tool_use` ids were found without `tool_result` blocks immediately after");
  // A provider's own loop that was paused is sent back as it is.
  if (String(final["type"]).endsWith("_tool_result") || final["type"] === "server_tool_use") return;
  if (!model.prefill) refuse("This model does not support assistant message prefill.");
  const thinking = (body["thinking"] as Body | undefined)?.["type"] as string | undefined;
  if (thinking !== undefined && thinking !== "disabled")
    refuse("assistant message prefill is not supported with thinking");
  if ((body["output_config"] as Body | undefined)?.["format"] !== undefined)
    refuse("assistant message prefill is not supported with output formats");
  if (final["type"] === "text" && /\s$/.test(final["text"] as string))
    refuse("messages: final assistant content cannot end with trailing whitespace");
}

function checkMarks(body: Body): void {
  let marks = 0;
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    if ((value as Body)["cache_control"] != null) marks++;
    for (const inner of Object.values(value)) visit(inner);
  };
  visit({
    ...body,
    tools: listOf(body["tools"]).map((tool) => Object.assign({}, tool, { input_schema: null })),
  });
  if (marks > 4)
    refuse(`A maximum of 4 blocks with cache_control may be provided. Found ${marks}.`);
}
