import { missing as codexIsMissing, sharedCodex } from "../codex-upstream/gateway.ts";
import { answerInMessages, messagesResults } from "../support/fake-messages.ts";
import {
  answerInChat,
  answerInResponses,
  chatResults,
  responsesResults,
  toolLoop,
  type FakeAnswer,
} from "../support/fake-model.ts";
import {
  fakeUpstream,
  json,
  type Answer,
  type Model,
  type ReceivedRequest,
} from "../support/fake-upstream.ts";
import { onto, serve } from "../support/serve.ts";

/** The upstreams behind the Gemini door. */
export type Backend = "chat" | "responses" | "messages" | "codex";
export const backends: readonly Backend[] = [
  "chat",
  "responses",
  "messages",
  ...(codexIsMissing ? [] : (["codex"] as const)),
];

/** What a model says to a request, by the results that it has. */
export type Say = (results: ReadonlyMap<string, string>, index: number) => FakeAnswer;

const wires: Readonly<
  Record<
    Exclude<Backend, "codex">,
    (request: ReceivedRequest) => [ReadonlyMap<string, string>, (say: FakeAnswer) => Answer]
  >
> = {
  chat: ({ body }) => [chatResults(body), (say) => answerInChat(body, say)],
  responses: ({ body }) => [responsesResults(body), (say) => answerInResponses(body, say)],
  messages: ({ body }) => [messagesResults(body), (say) => answerInMessages(body, say)],
};

export const modelOf =
  (back: Backend, say: Say): Model =>
  (request, index) => {
    if (request.method === "GET") return json({ object: "list", data: [{ id: "m" }] });
    const [results, answer] = wires[back === "codex" ? "responses" : back](request);
    return answer(say(results, index));
  };

export type GeminiGateway = AsyncDisposable & {
  readonly back: Backend;
  readonly url: string;
  /** What the model was asked. */
  readonly requests: readonly ReceivedRequest[];
};

/** Opens gateways for the tests of a file, with one app-server for all of them. */
export function geminiGateways(): (back: Backend, say?: Say) => Promise<GeminiGateway> {
  const openCodex = sharedCodex();
  return async (back, say = toolLoop) => {
    if (back === "codex") {
      const codex = await openCodex(modelOf(back, say));
      return {
        back,
        url: codex.served.url,
        get requests() {
          return codex.model.requests;
        },
        // The app-server serves all tests of the file.
        [Symbol.asyncDispose]: () => Promise.resolve(),
      };
    }
    const upstream = await fakeUpstream(modelOf(back, say));
    const served = await serve({
      ...onto(back, upstream.url),
      models: { m: "fake/m", "gemini-2.5-flash": "fake/n" },
    });
    return {
      back,
      url: served.url,
      requests: upstream.requests,
      async [Symbol.asyncDispose]() {
        await served[Symbol.asyncDispose]();
        await upstream[Symbol.asyncDispose]();
      },
    };
  };
}

/** Says which turn of a conversation it answers. */
export const numbered: Say = (_, index) => ({ text: `Answer ${index + 1}.` });

export const structured = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer" } },
  required: ["city", "days"],
  additionalProperties: false,
} as const;
export const structuredText = '{"city":"Zürich","days":3}';

/** A PNG of one pixel. */
export const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** What a model was sent last. */
export const lastSent = ({ requests }: Pick<GeminiGateway, "requests">): string =>
  requests.at(-1)?.text ?? "";
