import { createHash } from "node:crypto";
import { fieldsOf, listOf, textOf } from "../../dialects/shared/loose.ts";
import { jsonOf, ordered } from "../../turn/json.ts";
import type { Fields } from "../../turn/turn.ts";
import type { Said, SaidCall } from "./events.ts";
import type { CodexRequest } from "./request.ts";

/** How a request goes on in a thread that waits for the results of its calls. */
export type Continuation = {
  /** What the thread must have heard and said so far. */
  readonly key: string;
  /** The `contentItems` of each call, in their order: ids are not always the ones that the model gave. */
  readonly answers: readonly (readonly Fields[])[];
  /** What the user says beyond the results: the input of one `turn/steer` for each message. */
  readonly more: readonly (readonly Fields[])[];
};

/** The key of a tenant's thread that was told the request and has said this. */
export const keyOf = (tenant: string, request: CodexRequest, said: Said): string =>
  hashOf(tenant, request, { before: spoken(request.items), said });

/**
 * How this request goes on, if it does: calls, a result for each of them, and
 * then nothing but words of the user. Reasoning is left out of the comparison:
 * the thread has its own, and not every client gives it back.
 */
export function continuationOf(tenant: string, request: CodexRequest): Continuation | undefined {
  const items = spoken(request.items);
  const end = items.findLastIndex((item) => item.type === "function_call_output") + 1;
  const more = items.slice(end).map(steering);
  let at = end;
  const answers = new Map<string, readonly Fields[]>();
  for (; items[at - 1]?.type === "function_call_output"; at--) {
    const result = items[at - 1];
    const content = contentItems(result?.output);
    if (content === undefined) return undefined;
    answers.set(textOf(result?.call_id) ?? "", content);
  }
  const said: Said = { text: "", calls: [] };
  for (; items[at - 1]?.type === "function_call"; at--) said.calls.unshift(callIn(items[at - 1]));
  for (; isOwnMessage(items[at - 1]); at--) said.text = textIn(items[at - 1]) + said.text;
  const inOrder = said.calls.map(({ id }) => answers.get(id)).filter((one) => one !== undefined);
  const answered = said.calls.length > 0 && inOrder.length === said.calls.length;
  if (!answered || answers.size !== said.calls.length || more.includes(undefined)) return undefined;
  return {
    key: hashOf(tenant, request, { before: items.slice(0, at), said }),
    answers: inOrder,
    more: more.filter((input) => input !== undefined),
  };
}

/** Whether Codex will ask for all of these calls, and so wait for their results. */
export function willWait({ calls }: Said, { thread }: CodexRequest): boolean {
  const tools = listOf(thread.dynamicTools) ?? [];
  const names = new Set(tools.map((tool) => fieldsOf(tool)?.name));
  const ids = new Set(calls.map(({ id }) => id));
  // It answers by itself what it cannot read or does not know, and goes on.
  return (
    ids.size === calls.length &&
    !ids.has("") &&
    calls.every(({ name, input, plain }) => plain && names.has(name) && jsonOf(input) !== undefined)
  );
}

const spoken = (items: readonly Fields[]): readonly Fields[] =>
  items.filter((item) => item.type !== "reasoning");

function hashOf(
  tenant: string,
  { thread, options }: CodexRequest,
  { before, said }: { readonly before: readonly Fields[]; readonly said: Said },
): string {
  // Clients may write arguments anew, so they are compared as values.
  const calls = said.calls.map(({ name, input }) => [name, ordered(jsonOf(input))]);
  const text = JSON.stringify([tenant, thread, options, before, said.text, calls]);
  return createHash("sha256").update(text).digest("base64");
}

const callIn = (item: Fields | undefined): SaidCall => ({
  id: textOf(item?.call_id) ?? "",
  name: textOf(item?.name) ?? "",
  input: textOf(item?.arguments) ?? "",
  plain: true,
});

const isOwnMessage = (item: Fields | undefined): boolean =>
  item?.type === "message" && item.role === "assistant";

const textIn = (item: Fields | undefined): string =>
  (listOf(item?.content) ?? []).map((part) => textOf(fieldsOf(part)?.text) ?? "").join("");

/**
 * The output of a result, as a call that waits is answered with it; undefined
 * if it cannot be: there Codex shows every image in high detail.
 */
function contentItems(output: unknown): Fields[] | undefined {
  if (typeof output === "string") return [{ type: "inputText", text: output }];
  const parts = (listOf(output) ?? []).map(fieldsOf);
  const isImage = (part: Fields | undefined): boolean => part?.type === "input_image";
  if (parts.some((part) => isImage(part) && part?.detail !== "high")) return undefined;
  return parts.map((part) =>
    isImage(part)
      ? { type: "inputImage", imageUrl: part?.image_url }
      : { type: "inputText", text: textOf(part?.text) ?? "" },
  );
}

/** A message of the user as the input of a turn; anything else cannot be said there. */
function steering(item: Fields): readonly Fields[] | undefined {
  if (item.type !== "message" || item.role !== "user") return undefined;
  return (listOf(item.content) ?? []).map((one): Fields => {
    const part = fieldsOf(one);
    // Codex has its own default, which costs more than the API's.
    if (part?.type === "input_image")
      return { type: "image", url: part.image_url, detail: part.detail ?? "auto" };
    return { type: "text", text: textOf(part?.text) ?? "" };
  });
}
