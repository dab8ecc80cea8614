import * as fc from "fast-check";
import type { Body } from "./fake-upstream.ts";
import { cutUp, type Named, type RandomAnswer } from "./random-answers.ts";

/** In how many ways a Responses upstream may say the same. */
export const responsesForms = fc
  .record({
    size: fc.integer({ min: 1, max: 8 }),
    created: fc.boolean(),
    added: fc.boolean(),
    deltas: fc.boolean(),
    parts: fc.boolean(),
    texts: fc.boolean(),
    done: fc.boolean(),
    output: fc.constantFrom("given", "missing", "empty", "null"),
    ids: fc.constantFrom("own", "missing", "rotating"),
    index: fc.constantFrom("own", "missing", "from 1", "same"),
    isCounted: fc.boolean(),
    names: fc.constantFrom("both", "type", "event"),
    isObject: fc.boolean(),
    side: fc.constantFrom("summary", "content"),
    end: fc.constantFrom("response.completed", "response.done", "bare"),
    sentinel: fc.boolean(),
    byTurns: fc.boolean(),
  })
  // All there is to know of an item has to be said somewhere, and whose it is.
  .filter(({ output, done, added, deltas, ids, index, byTurns }) => {
    if (output !== "given" && !done && !(added && deltas)) return false;
    if (index === "same" && (!added || ids === "rotating")) return false;
    if (ids === "rotating" && index === "missing") return false;
    return !byTurns || (added && index === "own");
  });
type ResponsesForm = typeof responsesForms extends fc.Arbitrary<infer T> ? T : never;

type Item = { readonly first: Body; readonly last: Body; readonly events: readonly Body[] };

/** Ids and places as a form has them. */
function naming(form: ResponsesForm) {
  let made = 0;
  const idOf = (id: string): string | undefined =>
    form.ids === "missing" ? undefined : form.ids === "own" ? id : `${id}_${made++}`;
  const indexOf = (at: number): number | undefined =>
    ({ own: at, missing: undefined, "from 1": at + 1, same: 0 })[form.index];
  const about = (at: number, id: string) => (type: string, fields: Body) => ({
    type: `response.${type}`,
    item_id: idOf(id),
    output_index: indexOf(at),
    ...fields,
  });
  return { idOf, indexOf, about };
}
type Naming = ReturnType<typeof naming>;

function reasoningItem(text: string, at: number, form: ResponsesForm, to: Naming): Item {
  const isSummary = form.side === "summary";
  const say = to.about(at, "rs_1");
  const where = isSummary ? { summary_index: 0 } : { content_index: 0 };
  const name = isSummary ? "reasoning_summary_text" : "reasoning_text";
  const part = isSummary ? "reasoning_summary_part" : "content_part";
  const type = isSummary ? "summary_text" : "reasoning_text";
  const events: Body[] = [];
  if (form.parts) events.push(say(`${part}.added`, { ...where, part: { type, text: "" } }));
  if (form.deltas)
    for (const delta of cutUp(text, form.size))
      events.push(say(`${name}.delta`, { ...where, delta }));
  if (form.texts) events.push(say(`${name}.done`, { ...where, text }));
  if (form.parts) events.push(say(`${part}.done`, { ...where, part: { type, text } }));
  const item = { type: "reasoning", summary: [] };
  return {
    first: { ...item, id: to.idOf("rs_1") },
    last: { ...item, [form.side]: [{ type, text }], id: to.idOf("rs_1") },
    events,
  };
}

function messageItem(text: string, at: number, form: ResponsesForm, to: Naming): Item {
  const say = to.about(at, "msg_1");
  const where = { content_index: 0 };
  const blank = { type: "output_text", text: "", annotations: [], logprobs: [] };
  const events: Body[] = [];
  if (form.parts) events.push(say("content_part.added", { ...where, part: blank }));
  if (form.deltas)
    for (const delta of cutUp(text, form.size))
      events.push(say("output_text.delta", { ...where, delta, logprobs: [] }));
  if (form.texts) events.push(say("output_text.done", { ...where, text, logprobs: [] }));
  if (form.parts) events.push(say("content_part.done", { ...where, part: { ...blank, text } }));
  const item = { type: "message", role: "assistant" };
  const content = [{ ...blank, text }];
  return {
    first: { ...item, id: to.idOf("msg_1"), status: "in_progress", content: [] },
    last: { ...item, id: to.idOf("msg_1"), status: "completed", content },
    events,
  };
}

type Call = RandomAnswer["calls"][number] & { readonly place: number };

function callItem({ name, args, place }: Call, at: number, form: ResponsesForm, to: Naming): Item {
  const id = `fc_${place}`;
  const say = to.about(at, id);
  const input = form.isObject ? (JSON.parse(args) as unknown) : args;
  const events: Body[] = [];
  if (form.deltas)
    for (const delta of cutUp(args, form.size))
      events.push(say("function_call_arguments.delta", { delta }));
  if (form.texts) events.push(say("function_call_arguments.done", { arguments: input }));
  const item = { type: "function_call", call_id: `call_${place}`, name };
  return {
    first: { ...item, id: to.idOf(id), arguments: "", status: "in_progress" },
    last: { ...item, id: to.idOf(id), arguments: input, status: "completed" },
    events,
  };
}

function itemsOf(said: RandomAnswer, form: ResponsesForm, to: Naming): Item[] {
  const items: Item[] = [];
  if (said.reasoning !== "") items.push(reasoningItem(said.reasoning, 0, form, to));
  if (said.text !== "") items.push(messageItem(said.text, items.length, form, to));
  for (const [place, call] of said.calls.entries())
    items.push(callItem({ ...call, place }, items.length, form, to));
  return items;
}

const response = { id: "resp_1", object: "response", created_at: 1, model: "m" };

/** The events of a stream that says it. */
function eventsOf(said: RandomAnswer, form: ResponsesForm): Body[] {
  const to = naming(form);
  const items = itemsOf(said, form, to);
  const events: Body[] = [];
  const open = { ...response, status: "in_progress", output: [] };
  if (form.created) events.push({ type: "response.created", response: open });
  const steps = items.map(({ first, last, events: between }, at) => {
    const place = { output_index: to.indexOf(at) };
    const added = { type: "response.output_item.added", ...place, item: first };
    const done = { type: "response.output_item.done", ...place, item: last };
    return [form.added ? [added] : [], between, form.done ? [done] : []] as const;
  });
  if (form.byTurns) {
    events.push(...steps.flatMap(([added]) => added));
    for (let at = 0; steps.some(([, between]) => at < between.length); at++)
      events.push(...steps.flatMap(([, between]) => between[at] ?? []));
    events.push(...steps.flatMap(([, , done]) => done));
  } else events.push(...steps.flat(2));
  const given = items.map(({ last }) => last);
  const output = { given, missing: undefined, empty: [], null: null }[form.output];
  const last = { ...response, status: "completed", output };
  events.push(form.end === "bare" ? last : { type: form.end, response: last });
  return events;
}

export function responsesFrames(said: RandomAnswer, form: ResponsesForm): Named[] {
  const frames = eventsOf(said, form).map((event, at): Named => {
    const { type, ...rest } = event;
    const isTyped = typeof type === "string";
    const value = {
      ...(form.names === "event" ? rest : event),
      ...(form.isCounted && isTyped && { sequence_number: at }),
    };
    return { value, name: isTyped && form.names !== "type" ? type : undefined };
  });
  return form.sentinel ? [...frames, { value: "[DONE]" }] : frames;
}

/** The same as one body. */
export function responsesBody(said: RandomAnswer, form: ResponsesForm): unknown {
  const body = eventsOf(said, { ...form, output: "given" }).at(-1);
  return form.byTurns ? [body] : body;
}
