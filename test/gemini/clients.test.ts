import { describe, expect, it } from "vitest";
import { finalText, question, results, toolbox, wantedInputs } from "../sdk/gateway.ts";
import { toolLoop, wantedCalls } from "../support/fake-model.ts";
import { ai } from "./ai.ts";
import type { GeminiClient } from "./client.ts";
import {
  backends,
  geminiGateways,
  lastSent,
  numbered,
  pixel,
  structuredText,
  type Backend,
  type GeminiGateway,
  type Say,
} from "./gateway.ts";
import { callingGenai, genai } from "./genai.ts";
import { langchain } from "./langchain.ts";
import { python } from "./python.ts";

const clients: readonly GeminiClient[] = [genai, callingGenai, python(), ai, langchain];
const open = geminiGateways();

const questions = ["Question 1?", "Question 2?", "Question 3?"];
const allModels = [
  "models/m",
  "models/gemini-2.5-flash",
  expect.stringMatching(/^models\/fake\/./) as string,
];
const pdf = Buffer.from("%PDF-1.4 a short one").toString("base64");

/** Some SDKs send no ids of calls back: their results are known by their order. */
const inOrder = (said: ReadonlyMap<string, string>): ReadonlyMap<string, string> =>
  said.has(wantedCalls[0].id)
    ? said
    : new Map([...said.values()].map((text, at) => [wantedCalls[at]?.id ?? "", text]));

const atOnce: Say = (said) => toolLoop(inOrder(said));
const inTurn: Say = (said) => {
  const call = wantedCalls[said.size];
  return call === undefined ? toolLoop(inOrder(said)) : { calls: [call] };
};
/** Calls tools for the first question, and says which request it answers from then on. */
const callsFirst: Say = (said, index) => (index < 2 ? atOnce(said, index) : numbered(said, index));

type Act = (client: GeminiClient, gateway: GeminiGateway) => Promise<unknown>;
type Row = {
  readonly says: Say;
  readonly act: Act;
  readonly wants: unknown;
  /** Parts of the last request that the model receives. */
  readonly sends?: readonly string[];
  /** The reason why a client or an upstream cannot do this. */
  readonly lacks?: (client: GeminiClient, back: Backend) => string | false | undefined;
};

const both = (name: string, row: Omit<Row, "act">, act: (stream: boolean) => Act) =>
  ([false, true] as const).map((stream): [string, Row] => [
    `${name}${stream ? ", streamed" : ""}`,
    { ...row, act: act(stream) },
  ]);

/** The texts of a conversation and the calls that the client ran in it. */
const talks =
  (asked: readonly string[]) =>
  (stream: boolean): Act =>
  async (client, gateway) => {
    const box = toolbox();
    const said = await client
      .talk(gateway, { stream, box, questions: asked })
      .catch(() => "an error");
    return [said, box.called];
  };

const toolResults = Object.values(results);
const files = [
  { mimeType: "image/png", data: pixel },
  { mimeType: "application/pdf", data: pdf },
];

const rows: readonly [string, Row][] = [
  ...both(
    "two calls at once",
    { says: atOnce, wants: [[finalText], wantedInputs], sends: toolResults },
    talks([question]),
  ),
  ...both(
    "a call after the result of another",
    { says: inTurn, wants: [[finalText], wantedInputs], sends: toolResults },
    talks([question]),
  ),
  ...both(
    "three turns",
    {
      says: numbered,
      wants: ["Answer 1.", "Answer 2.", "Answer 3."],
      sends: [...questions, "Answer 1.", "Answer 2."],
    },
    (stream) => (client, gateway) => client.talk(gateway, { stream, questions }),
  ),
  ...both(
    "three turns, the first with calls",
    {
      says: callsFirst,
      wants: [[finalText, "Answer 3.", "Answer 4."], wantedInputs],
      sends: [...questions, finalText, "Answer 3.", ...toolResults],
    },
    talks(questions),
  ),
  ...both(
    "an object by a schema",
    { says: () => ({ text: structuredText }), wants: { city: "Zürich", days: 3 }, sends: ["days"] },
    (stream) => (client, gateway) => client.object(gateway, stream),
  ),
  [
    "a stream that breaks off, as an error",
    {
      says: () => ({ calls: wantedCalls, text: "So.", breaksOff: true }),
      act: talks([question])(true),
      wants: ["an error", []],
      lacks: ({ unhandled }, back) => (back === "codex" ? "the app-server asks again" : unhandled),
    },
  ],
  ...files.map((file): [string, Row] => [
    `an inline file: ${file.mimeType}`,
    {
      says: numbered,
      act: (client, gateway) => client.file(gateway, file),
      wants: "Answer 1.",
      sends: [file.data],
      lacks: (_, back) =>
        back === "codex" && !file.mimeType.startsWith("image/") && "it takes images alone",
    },
  ]),
  [
    "a count of tokens",
    {
      says: numbered,
      act: async ({ countTokens }, gateway) =>
        typeof countTokens === "string" ? 0 : (await countTokens(gateway, question)) > 5,
      wants: true,
      lacks: ({ countTokens }) => typeof countTokens === "string" && countTokens,
    },
  ],
  [
    "models, listed and by name",
    {
      says: numbered,
      act: async ({ models }, gateway) => (typeof models === "string" ? [] : models(gateway)),
      wants: [allModels, allModels],
      lacks: ({ models }, back) =>
        back === "codex" ? "it names no models" : typeof models === "string" && models,
    },
  ],
];

for (const client of clients)
  for (const back of backends)
    describe.skipIf(client.isMissing)(`${client.name} on a ${back} upstream`, () => {
      for (const [name, { says, act, wants, sends = [], lacks }] of rows) {
        const reason = lacks?.(client, back);
        it.skipIf(reason)(`${name}${reason ? `: ${reason}` : ""}`, async () => {
          await using gateway = await open(back, says);
          expect(await act(client, gateway)).toEqual(wants);
          // Python writes bytes in the alphabet of URLs.
          const sent = lastSent(gateway).replaceAll("-", "+").replaceAll("_", "/");
          for (const part of sends)
            expect(sent).toContain(part.replaceAll("-", "+").replaceAll("_", "/"));
        });
      }
    });
