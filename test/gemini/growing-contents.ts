import { readRequest } from "../../src/dialects/gemini/read-request.ts";
import { writeSeal } from "../../src/turn/seal.ts";
import type { Works } from "../support/growth.ts";

const many = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at));
const model = (parts: readonly object[]) => ({ role: "model", parts });
const read = (...contents: readonly object[]): void => {
  if (readRequest({ contents }, { model: "m" }).items.length === 0) throw new Error("no items");
};
const signature = btoa(writeSeal({ from: "up/m", encrypted: "x" }));
const call = (at: number) => ({ functionCall: { name: `f${at % 7}` } });
const result = (at: number) => ({ functionResponse: { name: `f${at % 7}`, response: {} } });

/** What a conversation may have very many of. */
const conversations: Readonly<Record<string, (size: number) => void>> = {
  "texts with seals": (size) =>
    read(model(many(size, () => ({ text: "x", thoughtSignature: signature })))),
  "thoughts and texts": (size) =>
    read(model(many(size, (at) => ({ text: "x", ...(at % 2 === 0 && { thought: true }) })))),
  "thoughts before one seal": (size) =>
    read(
      model([
        ...many(size, () => ({ text: "x", thought: true })),
        { ...call(0), thoughtSignature: signature },
      ]),
    ),
  "seals in one signature": (size) =>
    read(
      model([
        {
          ...call(0),
          thoughtSignature: btoa(
            many(size, (at) => writeSeal({ from: "u", encrypted: `${at}` })).join("\n"),
          ),
        },
      ]),
    ),
  "calls and results without ids": (size) =>
    read(model(many(size, call)), { parts: many(size, (at) => result(size - at)) }),
  "results without calls": (size) => read({ parts: many(size, result) }),
  "results with media": (size) =>
    read(model([call(0)]), {
      parts: [
        result(0),
        ...many(size, () => ({ inlineData: { mimeType: "image/png", data: "AA" } })),
      ],
    }),
  "contents of one piece": (size) => read(...many(size, () => model([{ text: "x" }]))),
  turns: (size) =>
    read(...many(size, (at) => (at % 2 === 0 ? model([call(0)]) : { parts: [result(0)] }))),
};

export const works: Works = Object.fromEntries(
  Object.entries(conversations).map(([name, work]) => [
    name,
    (size: number) => Promise.resolve(work(size)),
  ]),
);
