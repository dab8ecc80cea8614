import { missing as codexIsMissing, sharedCodex } from "../codex-upstream/gateway.ts";
import { modelIn, type Results } from "../support/fake-dialects.ts";
import { geminiModel, geminiResults } from "../support/fake-gemini.ts";
import { toolLoop, type FakeAnswer } from "../support/fake-model.ts";
import {
  cut,
  fakeUpstream,
  json,
  type Model,
  type ReceivedRequest,
  type Step,
} from "../support/fake-upstream.ts";
import { onto, serve } from "../support/serve.ts";

/** The upstreams behind the Gemini door. */
export type Backend = "chat" | "responses" | "messages" | "gemini" | "codex";
export const backends: readonly Backend[] = [
  "chat",
  "responses",
  "messages",
  "gemini",
  ...(codexIsMissing ? [] : (["codex"] as const)),
];

/** Makes the answer to a request by the results in it. */
export type Say = (
  results: Results,
  index: number,
) => FakeAnswer & { readonly breaksOff?: boolean };

/** A model that speaks the dialect of an upstream. */
function modelOf(back: Backend, say: Say): Model {
  let breaksOff: boolean | undefined;
  const model = wholeModel(back, (results, index) => {
    const said = say(results, index);
    ({ breaksOff } = said);
    return said;
  });
  return (request, index) => {
    const { steps, ...answer } = model(request, index);
    if (breaksOff !== true) return { ...answer, steps };
    const all = [...(steps as Iterable<Step>)];
    return { ...answer, steps: all.slice(0, all.length / 2).concat(cut) };
  };
}

function wholeModel(back: Backend, say: Say): Model {
  if (back === "gemini") return geminiModel(({ body }, index) => say(geminiResults(body), index));
  const model = modelIn(back === "codex" ? "responses" : back, (results, _, at) =>
    say(results, at),
  );
  return (request, index) =>
    request.method === "GET"
      ? json({ object: "list", data: [{ id: "m" }] })
      : model(request, index);
}

export type GeminiGateway = AsyncDisposable & {
  readonly back: Backend;
  readonly url: string;
  /** The requests that the model received. */
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

/** The last request that the model received. A client may give a streamed answer back in the pieces that it got. */
export const lastSent = ({ requests }: Pick<GeminiGateway, "requests">): string =>
  JSON.stringify(requests.at(-1)?.body ?? {}).replaceAll(
    '"}],"role":"model"},{"parts":[{"text":"',
    "",
  );
