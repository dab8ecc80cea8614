/** The fake model in each dialect that an HTTP upstream may speak. */

import type { BuiltinDialectName } from "../../src/dialects/registry.ts";
import { answerInGemini, geminiResults } from "./fake-gemini.ts";
import { answerInMessages, messagesResults } from "./fake-messages.ts";
import {
  answerInChat,
  answerInResponses,
  chatResults,
  responsesResults,
  toolLoop,
  type FakeAnswer,
} from "./fake-model.ts";
import type { Answer, Body, Model, ReceivedRequest } from "./fake-upstream.ts";

/** The texts of the results in a request, by the ids of their calls. */
export type Results = ReadonlyMap<string, string>;

type FakeDialect = {
  readonly results: (body: Body) => Results;
  readonly answer: (request: ReceivedRequest, say: FakeAnswer) => Answer;
};

export const fakeDialects = {
  chat: { results: chatResults, answer: ({ body }, say) => answerInChat(body, say) },
  responses: { results: responsesResults, answer: ({ body }, say) => answerInResponses(body, say) },
  messages: { results: messagesResults, answer: ({ body }, say) => answerInMessages(body, say) },
  gemini: { results: geminiResults, answer: ({ path }, say) => answerInGemini(path, say) },
} as const satisfies Record<BuiltinDialectName, FakeDialect>;

/** A model that says something by the results in a request. */
export const modelIn =
  (
    dialect: BuiltinDialectName,
    say: (results: Results, request: ReceivedRequest, index: number) => FakeAnswer,
  ): Model =>
  (request, index) => {
    const { results, answer } = fakeDialects[dialect];
    return answer(request, say(results(request.body), request, index));
  };

export const chatToolLoop = modelIn("chat", toolLoop);
export const responsesToolLoop = modelIn("responses", toolLoop);
export const messagesToolLoop = modelIn("messages", toolLoop);
