import { ask, bodyFor } from "../support/client.ts";
import { fakeUpstream, type Body, type Heard, type Model } from "../support/fake-upstream.ts";
import { readResponsesEvents } from "../support/responses-reader.ts";
import { onto, serve } from "../support/serve.ts";

/** A gateway in front of one fake upstream. */
export type Scene = AsyncDisposable & {
  readonly url: string;
  /** What the upstream was asked, so far. */
  readonly heard: readonly Heard[];
};

type Setting = Readonly<Record<string, unknown>> & { readonly dialect?: "chat" | "responses" };

export async function scene(
  model: Model,
  { dialect = "chat", ...more }: Setting = {},
): Promise<Scene> {
  const upstream = await fakeUpstream(model);
  const served = await serve(onto(dialect, upstream.url, more));
  return {
    url: served.url,
    heard: upstream.heard,
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
export const askBothWays = (here: Scene, more: Body): Promise<Body[]> =>
  Promise.all(
    [true, false].map(async (stream) =>
      responseIn(await ask(here, "responses", { ...more, stream })),
    ),
  );

/** What would be done to a request, in words. */
export async function decisionsOn(here: Scene, more: Body): Promise<Body[]> {
  const response = await fetch(`${here.url}/v1/plan`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(bodyFor("responses", more)),
  });
  return ((await response.json()) as Body)["decisions"] as Body[];
}

/** What the upstream heard last. */
export const lastHeard = (here: Scene): Body => here.heard.at(-1)?.body ?? {};
export const messagesHeard = (here: Scene): Body[] => lastHeard(here)["messages"] as Body[];
/** The names of the functions it was offered. */
export const namesHeard = (here: Scene): string[] =>
  ((lastHeard(here)["tools"] ?? []) as Body[]).map((tool) => tool["function"]?.name as string);
