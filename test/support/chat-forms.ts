import * as fc from "fast-check";
import type { Body } from "./fake-upstream.ts";
import { cutUp, type RandomAnswer } from "./random-answers.ts";

/** In how many ways a chat upstream may say the same. */
export const chatForms = fc
  .record({
    size: fc.integer({ min: 1, max: 8 }),
    role: fc.constantFrom("never", "always", "first", "null", "alone"),
    text: fc.constantFrom("plain", "text", "output_text", "strings"),
    reasoning: fc.constantFrom("reasoning_content", "reasoning", "part"),
    index: fc.constantFrom("given", "missing", "from 1", "text"),
    id: fc.constantFrom("first", "every", "empty later", "null later", "missing", "number"),
    name: fc.constantFrom("first", "every", "pieces", "empty later", "null later"),
    type: fc.constantFrom("given", "missing", "every", "null"),
    args: fc.constantFrom("pieces", "whole", "object", "empty first", "null first"),
    order: fc.constantFrom("one by one", "by turns", "side by side"),
    finish: fc.constantFrom("own", "with last", "twice", "never", "after counts", "early"),
    word: fc.constantFrom("tool_calls", "stop", "tool_use"),
    usage: fc.constantFrom("none", "own", "with finish", "texts"),
    noise: fc.constantFrom("none", "empty", "null", "braces"),
    head: fc.constantFrom("own", "rotating", "no id", "no object", "bare"),
    nulls: fc.boolean(),
    done: fc.boolean(),
  })
  // What nobody could read: pieces of names by turns, or calls by turns with nothing to tell them apart.
  .filter(({ index, name, order, finish }) => {
    if (name === "pieces")
      return index !== "missing" && order === "one by one" && finish !== "early";
    return index !== "missing" || order === "one by one";
  });
export type ChatForm = typeof chatForms extends fc.Arbitrary<infer T> ? T : never;

/** The chunks of a stream that says it. */
export function chatChunks(said: RandomAnswer, form: ChatForm): Body[] {
  let count = 0;
  const head = (): Body => headOf(form.head, ++count);
  const word = said.calls.length > 0 ? form.word : "stop";
  const texts = { prompt_tokens: "3", completion_tokens: "2", total_tokens: "5" };
  const numbers = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
  const chunks: Body[] = [];
  for (const delta of deltasOf(said, form)) {
    const role = form.role === "always" ? "assistant" : form.role === "null" ? null : undefined;
    const fields = { ...(role !== undefined && { role }), ...(form.nulls && nulls), ...delta };
    chunks.push({ ...head(), choices: [{ index: 0, delta: fields, finish_reason: null }] });
  }
  const isOwn = form.usage === "own" || form.usage === "texts";
  const usage = form.usage === "texts" ? texts : numbers;
  const counts = isOwn ? [{ ...head(), choices: [], usage }] : [];
  const end = (): Body => ({
    ...head(),
    choices: [{ index: 0, delta: form.nulls ? null : {}, finish_reason: word }],
    ...(form.usage === "with finish" && { usage }),
  });
  const last = chunks.at(-1) as Body;
  const ends: Record<ChatForm["finish"], () => Body[]> = {
    own: () => [...chunks, end(), ...counts],
    "with last": () => {
      last["choices"][0].finish_reason = word;
      return [...chunks, ...counts];
    },
    twice: () => [...chunks, end(), end(), ...counts],
    never: () => [...chunks, ...counts],
    "after counts": () => [...chunks, ...counts, end()],
    early: () => [...chunks.slice(0, -1), end(), last, ...counts],
  };
  const noise = {
    none: undefined,
    empty: { ...head(), choices: [] },
    null: { choices: null },
    braces: {},
  };
  const between: Body | undefined = noise[form.noise];
  return ends[form.finish]().flatMap((chunk, at) =>
    between !== undefined && at % 2 === 0 ? [between, chunk] : [chunk],
  );
}

const nulls = { content: null, tool_calls: null, function_call: null, refusal: null, audio: null };

function headOf(form: ChatForm["head"], count: number): Body {
  const own = { id: "c", object: "chat.completion.chunk", created: 1, model: "m" };
  const { id: _, ...unnamed } = own;
  const { object: __, ...untyped } = own;
  const rotating = { ...own, id: `c${count}`, created: count };
  return { own, rotating, "no id": unnamed, "no object": untyped, bare: {} }[form];
}

function deltasOf(said: RandomAnswer, form: ChatForm): Body[] {
  const deltas: Body[] = [];
  if (form.role === "first") deltas.push({ role: "assistant", content: "" });
  if (form.role === "alone") deltas.push({ role: "assistant" });
  for (const text of cutUp(said.reasoning, form.size))
    deltas.push(
      form.reasoning === "part"
        ? { content: [{ type: "thinking", thinking: [{ type: "text", text }] }] }
        : { [form.reasoning]: text },
    );
  for (const text of cutUp(said.text, form.size)) {
    const part = form.text === "strings" ? text : { type: form.text, text };
    deltas.push({ content: form.text === "plain" ? text : [part] });
  }
  const calls = said.calls.map(({ name, args }, at) => callPieces(name, args, at, form));
  if (form.order === "one by one")
    return deltas.concat(calls.flat().map((piece) => ({ tool_calls: [piece] })));
  for (let at = 0; calls.some((pieces) => at < pieces.length); at++) {
    const now = calls.flatMap((pieces) => pieces[at] ?? []);
    if (form.order === "side by side") deltas.push({ tool_calls: now });
    else for (const piece of now) deltas.push({ tool_calls: [piece] });
  }
  return deltas;
}

function callPieces(name: string, args: string, at: number, form: ChatForm): Body[] {
  const cut = cutUp(args, form.size);
  const inputs: Record<ChatForm["args"], unknown[]> = {
    pieces: cut,
    whole: [args],
    object: [JSON.parse(args)],
    "empty first": ["", ...cut],
    "null first": [null, ...cut],
  };
  const names = form.name === "pieces" ? cutUp(name, 3) : [name];
  const later: Body = {
    every: { name },
    "empty later": { name: "" },
    "null later": { name: null },
  };
  const bodies = names.slice(0, -1).map((piece): Body => ({ name: piece, arguments: "" }));
  for (const [place, input] of inputs[form.args].entries())
    bodies.push({ arguments: input, ...(place === 0 ? { name: names.at(-1) } : later[form.name]) });
  return bodies.map((body, place) => callHead(place === 0, body, at, form));
}

function callHead(isFirst: boolean, body: Body, at: number, form: ChatForm): Body {
  const id = { id: `call_${at}` };
  const later: Body = { every: id, "empty later": { id: "" }, "null later": { id: null } };
  const first: Body = { missing: {}, number: { id: at + 7 } };
  const index: Body = {
    given: { index: at },
    "from 1": { index: at + 1 },
    text: { index: `${at}` },
  };
  const isTyped = form.type === "every" || (form.type === "given" && isFirst);
  return {
    ...index[form.index],
    ...(isFirst ? (first[form.id] ?? id) : later[form.id]),
    ...(isTyped && { type: "function" }),
    ...(form.type === "null" && { type: null }),
    function: body,
  };
}

/** In how many ways it may stand in one body. */
export const bodyForms = fc.record({
  content: fc.constantFrom("plain", "parts", "strings", "part"),
  silence: fc.constantFrom(null, "", undefined),
  reasoning: fc.constantFrom("reasoning_content", "reasoning", "part"),
  isObject: fc.boolean(),
  id: fc.constantFrom("own", "missing", "empty", "same", "number"),
  index: fc.constantFrom("missing", "own", "same"),
  calls: fc.constantFrom("tool_calls", "flat"),
  finish: fc.constantFrom("tool_calls", "stop", "STOP", null, undefined),
  holder: fc.constantFrom("message", "delta"),
  choice: fc.constantFrom(0, 3, undefined),
  isListed: fc.boolean(),
  type: fc.constantFrom("application/json", "text/event-stream", "text/plain"),
  object: fc.constantFrom("chat.completion", "chat.completion.chunk", undefined),
});
type BodyForm = typeof bodyForms extends fc.Arbitrary<infer T> ? T : never;

export function chatBody(said: RandomAnswer, form: BodyForm): unknown {
  const message: Body = { role: "assistant", content: form.silence };
  const parts: unknown[] = [];
  const { reasoning, text } = said;
  if (reasoning !== "" && form.reasoning === "part")
    parts.push({ type: "thinking", thinking: reasoning });
  else if (reasoning !== "") message[form.reasoning] = reasoning;
  if (text !== "") parts.push(form.content === "strings" ? text : { type: "text", text });
  const calls = said.calls.map((call, at) => bodyCall(call, at, form));
  if (calls.length > 0) message["tool_calls"] = calls;
  const isPlain = form.content === "plain" && parts.length === 1 && text !== "";
  if (isPlain) message["content"] = text;
  else if (parts.length > 0)
    message["content"] = form.content === "part" && parts.length === 1 ? parts[0] : parts;
  const { holder, choice: index, object, finish } = form;
  const choice = { index, [holder]: message, finish_reason: finish };
  const body = { id: "c", object, created: 1, model: "m", choices: [choice] };
  return form.isListed ? [body] : body;
}

function bodyCall({ name, args }: RandomAnswer["calls"][number], at: number, form: BodyForm): Body {
  const ids: Body = { own: `call_${at}`, empty: "", same: "call_x", number: at };
  const id = ids[form.id] as unknown;
  const input = form.isObject ? (JSON.parse(args) as unknown) : args;
  const index = { missing: undefined, own: at, same: 0 }[form.index];
  const called = { name, arguments: input };
  return {
    id,
    index,
    ...(form.calls === "flat" ? called : { type: "function", function: called }),
  };
}
