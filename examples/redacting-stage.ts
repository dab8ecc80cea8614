/**
 * A stage of your own: keys that a model writes never reach the client, however
 * the stream cuts them. Run it with `npm run example -- redacting-stage`; it
 * checks what it shows.
 */
import assert from "node:assert/strict";
// In a project of your own: from "patchbay".
import { createGateway, type MakeTurnStage } from "../src/index.ts";

const SECRET = /sk-[A-Za-z0-9]{8,}/g;
/** The beginning of a secret at the end of a text: the rest may come with the next delta. */
const BEGUN = /s(?:k(?:-[A-Za-z0-9]*)?)?$/;

/** A stage is made for each turn, so that its variables are the turn's own. */
const redact: MakeTurnStage = () => {
  /** What is held back, by choice: a request may ask for several answers. */
  const held = new Map<number, string>();
  return {
    each(event, emit) {
      if (event.type === "text-delta") {
        const text = (held.get(event.choice) ?? "") + event.text;
        const at = BEGUN.exec(text)?.index ?? text.length;
        held.set(event.choice, text.slice(at));
        const safe = text.slice(0, at).replaceAll(SECRET, "[key]");
        if (safe !== "") emit({ ...event, text: safe });
        return;
      }
      // Whatever follows the text, what was held of it goes first.
      const rest = "choice" in event ? (held.get(event.choice) ?? "") : "";
      if ("choice" in event && rest !== "") {
        held.delete(event.choice);
        emit({ type: "text-delta", choice: event.choice, text: rest.replaceAll(SECRET, "[key]") });
      }
      emit(event);
    },
  };
};

const answer = "Use sk-abcdefgh12345678, then ask.";

/** Asks a gateway whose model writes the answer in pieces of so many characters. */
async function ask(size: number, stream: boolean): Promise<string> {
  const pieces = answer.match(new RegExp(`.{1,${size}}`, "gs")) ?? [];
  const script = [[{ text: pieces }]];
  await using gateway = createGateway(
    { upstreams: { actor: { dialect: "scripted", script } }, models: { "*": "actor/any" } },
    { stages: [redact] },
  );
  const response = await gateway.fetch(
    new Request("http://gateway/v1/chat/completions", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "m", stream, messages: [{ role: "user", content: "How?" }] }),
    }),
  );
  return stream ? streamedText(await response.text()) : bodyText(await response.json());
}

type Body = { choices: { delta?: { content?: string }; message?: { content: string } }[] };

const bodyText = (body: unknown): string => (body as Body).choices[0]?.message?.content ?? "";

const streamedText = (text: string): string =>
  [...text.matchAll(/^data: (\{.*)$/gm)]
    .map(([, json]) => (JSON.parse(json ?? "") as Body).choices[0]?.delta?.content ?? "")
    .join("");

for (let size = 1; size <= answer.length; size++)
  for (const stream of [true, false]) assert.equal(await ask(size, stream), "Use [key], then ask.");
console.log("redacting stage: no key came through, however the answer was cut");
