/** Clients that keep a conversation themselves and send all of it each time, with what they were given untouched. */

import type { Body } from "./fake-upstream.ts";

/** What a client does when it has its answer. */
export type ClientStep = {
  /** The order in which results are sent: numbers that the calls are sorted by. */
  readonly order: readonly number[];
  readonly result: string | readonly Body[];
  /** What is said behind the results. */
  readonly says: readonly { readonly role: string; readonly content: unknown }[];
};

export type GrowingClient<Door extends string = "chat" | "responses"> = {
  readonly door: Door;
  /** The next request. */
  request(): Body;
  /** Takes the whole answer in, and goes on. */
  take(answer: Body, step: ClientStep): void;
};

const inOrder = <T>(list: readonly T[], order: readonly number[]): T[] =>
  list
    .map((one, at) => [one, order[at] ?? at] as const)
    .toSorted(([, a], [, b]) => a - b)
    .map(([one]) => one);

export function chatClient(settings: Body, tools: readonly Body[], first: unknown): GrowingClient {
  const messages: Body[] = [
    { role: "system", content: "Be brief." },
    { role: "user", content: first },
  ];
  return {
    door: "chat",
    request: () => ({ ...settings, tools, messages: [...messages] }),
    take(answer, { order, result, says }) {
      const message = answer["choices"][0].message as Body;
      messages.push(message);
      for (const { id } of inOrder((message["tool_calls"] ?? []) as Body[], order))
        messages.push({ role: "tool", tool_call_id: id, content: result });
      messages.push(...says);
    },
  };
}

export function responsesClient(
  settings: Body,
  tools: readonly Body[],
  first: unknown,
): GrowingClient {
  const input: Body[] = [{ type: "message", role: "user", content: first }];
  return {
    door: "responses",
    request: () => ({
      instructions: "Be brief.",
      include: ["reasoning.encrypted_content"],
      store: false,
      ...settings,
      tools,
      input: [...input],
    }),
    take(answer, { order, result, says }) {
      const output = answer["output"] as Body[];
      input.push(...output);
      const calls = output.filter(({ type }) => String(type).endsWith("_call"));
      for (const call of inOrder(calls, order)) input.push(...answerTo(call, result));
      for (const { role, content } of says) input.push({ type: "message", role, content });
    },
  };
}

export function messagesClient(
  settings: Body,
  tools: readonly Body[],
  first: unknown,
): GrowingClient<"messages"> {
  const messages: Body[] = [{ role: "user", content: first }];
  return {
    door: "messages",
    request: () => ({
      system: "Be brief.",
      max_tokens: 9000,
      ...settings,
      tools,
      messages: [...messages],
    }),
    take({ content = [] }, { order, result, says }) {
      const said = content as Body[];
      if (said.length > 0) messages.push({ role: "assistant", content: said });
      const calls = said.filter(({ type }) => type === "tool_use");
      const results = inOrder(calls, order).map(({ id }) => ({
        type: "tool_result",
        tool_use_id: id as string,
        content: result,
      }));
      const texts = says.map(({ content: text }) => ({ type: "text", text }));
      if (results.length + texts.length > 0)
        messages.push({ role: "user", content: [...results, ...texts] });
    },
  };
}

export function geminiClient(
  settings: Body,
  tools: readonly Body[],
  first: unknown,
): GrowingClient<"gemini"> {
  const contents: Body[] = [{ role: "user", parts: [{ text: first }] }];
  return {
    door: "gemini",
    request: () => ({
      systemInstruction: { parts: [{ text: "Be brief." }] },
      ...settings,
      tools: [{ functionDeclarations: tools }],
      contents: [...contents],
    }),
    take({ candidates = [] }, { order, result, says }) {
      const content = candidates[0]?.content as Body | undefined;
      if (content !== undefined) contents.push(content);
      const calls = ((content?.["parts"] ?? []) as Body[]).flatMap(
        (part) => part["functionCall"] ?? [],
      );
      const results = inOrder(calls as Body[], order).map(({ id, name }) => ({
        functionResponse: { id: id as string, name: name as string, response: { output: result } },
      }));
      const texts = says.map(({ content: text }) => ({ text }));
      const last = contents.at(-1);
      const more = [...results, ...texts];
      if (last?.["role"] === "user") (last["parts"] as Body[]).push(...more);
      else if (more.length > 0) contents.push({ role: "user", parts: more });
    },
  };
}

/** What a client of the Responses API sends for a call of each kind. */
function answerTo(call: Body, result: unknown): Body[] {
  const { call_id } = call;
  switch (call["type"]) {
    case "function_call":
      return [{ type: "function_call_output", call_id, output: result }];
    case "custom_tool_call":
      return [{ type: "custom_tool_call_output", call_id, output: result }];
    case "local_shell_call":
      return [{ type: "local_shell_call_output", id: call_id, output: "a" }];
    case "shell_call": {
      const outcome = { type: "exit", exit_code: 0 };
      return [
        { type: "shell_call_output", call_id, output: [{ stdout: "a", stderr: "", outcome }] },
      ];
    }
    case "apply_patch_call":
      return [{ type: "apply_patch_call_output", call_id, status: "completed", output: "done" }];
    case "tool_search_call":
      return [
        {
          type: "tool_search_output",
          call_id,
          execution: "client",
          status: "completed",
          tools: [
            {
              type: "function",
              name: `found_${String(call_id)}`,
              parameters: { type: "object" },
              defer_loading: true,
            },
            {
              type: "namespace",
              name: "late",
              tools: [{ type: "function", name: "found", parameters: { type: "object" } }],
            },
          ],
        },
      ];
    default:
      throw new Error(`nobody answers a ${String(call["type"])}`);
  }
}
