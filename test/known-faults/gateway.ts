import type { BuiltinDialectName } from "../../src/dialects/registry.ts";
import { askWithin, bodyFor } from "../support/client.ts";
import {
  fakeUpstream,
  type Body,
  type ReceivedRequest,
  type Model,
} from "../support/fake-upstream.ts";
import { readResponsesEvents } from "../support/responses-reader.ts";
import { onto, serve, type Served } from "../support/serve.ts";

/** A gateway in front of one fake upstream. */
export type FakeBackedGateway = AsyncDisposable & {
  readonly url: string;
  readonly fetch: Served["fetch"];
  /** What the upstream was asked, so far. */
  readonly requests: readonly ReceivedRequest[];
};

type Setting = Readonly<Record<string, unknown>> & { readonly dialect?: BuiltinDialectName };

export async function fakeBackedGateway(
  model: Model,
  { dialect = "chat", ...more }: Setting = {},
): Promise<FakeBackedGateway> {
  const upstream = await fakeUpstream(model);
  const served = await serve(onto(dialect, upstream.url, more));
  return {
    url: served.url,
    fetch: served.fetch,
    requests: upstream.requests,
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

/** The response object of an answer, streamed or whole, read as the strictest client would. */
export async function responseIn(response: Response): Promise<Body> {
  const text = await response.text();
  return text.startsWith("{")
    ? (JSON.parse(text) as Body)
    : (readResponsesEvents(text).at(-1)?.["response"] as Body);
}

/** Asks the Responses door in both ways; each answer's response object. */
export const askBothWays = (here: FakeBackedGateway, more: Body): Promise<Body[]> =>
  Promise.all(
    [true, false].map(async (stream) =>
      responseIn(await askWithin(here, "responses", { ...more, stream })),
    ),
  );

/** What would be done to a request, in words. */
export async function decisionsOn(here: FakeBackedGateway, more: Body): Promise<Body[]> {
  const response = await here.fetch(`${here.url}/v1/plan`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(bodyFor("responses", more)),
  });
  return ((await response.json()) as Body)["decisions"] as Body[];
}

/** What the upstream heard last. */
export const lastRequest = (here: FakeBackedGateway): Body => here.requests.at(-1)?.body ?? {};
export const messagesReceived = (here: FakeBackedGateway): Body[] =>
  lastRequest(here)["messages"] as Body[];
/** The names of the functions it was offered. */
export const namesReceived = (here: FakeBackedGateway): string[] =>
  ((lastRequest(here)["tools"] ?? []) as Body[]).map((tool) => tool["function"]?.name as string);
