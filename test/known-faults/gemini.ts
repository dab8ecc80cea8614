import type { BuiltinDialectName } from "../../src/dialects/registry.ts";
import { received } from "../support/client-answer.ts";
import { fakeUpstream, type Body, type Model } from "../support/fake-upstream.ts";
import { foldGemini, readGeminiStream, type GeminiForm } from "../support/gemini-reader.ts";
import { onto, serve } from "../support/serve.ts";

export type Asking = {
  readonly to?: BuiltinDialectName;
  readonly says: Model;
  /** The form of the stream; without one, the answer is whole. */
  readonly stream?: GeminiForm;
  readonly path?: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Fields of the upstream's configuration. */
  readonly more?: Readonly<Record<string, unknown>>;
};

/** An answer of the Gemini door, and the requests that its upstream received. */
export type Asked = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** False if the connection broke off. */
  readonly isWhole: boolean;
  readonly chunks: readonly Body[];
  /** The first candidate of the answer; that of a stream is the sum of its chunks. */
  readonly candidate: Body;
  readonly answer: Body;
  readonly error: Body | undefined;
  readonly sent: readonly Body[];
  /** The changes to the request and the answer; empty without an answer. */
  readonly decisions: readonly string[];
};

export const look = {
  name: "look",
  parametersJsonSchema: { type: "object", properties: { at: { type: "string" } } },
};
export const hi = { contents: [{ role: "user", parts: [{ text: "Hi" }] }] };

/** Asks the Gemini door of a gateway with one upstream for one answer. */
export async function askGemini(
  body: Body,
  { to = "chat", says, stream, path, query = "", headers = {}, more = {} }: Asking,
): Promise<Asked> {
  await using upstream = await fakeUpstream(says);
  await using served = await serve(onto(to, upstream.url, more));
  const action = stream === undefined ? "generateContent" : "streamGenerateContent";
  const asked = path ?? `/v1beta/models/m:${action}${stream === "sse" ? "?alt=sse" : query}`;
  const response = await fetch(served.url + asked, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ ...hi, ...body }),
  });
  const { text, isWhole } = await received(response);
  const isStream = stream !== undefined && response.ok;
  const read = isStream ? readGeminiStream(text, stream) : undefined;
  const answer = read === undefined ? (JSON.parse(text) as Body) : foldGemini(read.chunks);
  const plan = await fetch(`${served.url}/v1/plans/${String(answer["responseId"])}`);
  const { decisions = [] } = (await plan.json()) as { decisions?: readonly Body[] };
  return {
    status: response.status,
    headers: response.headers,
    text,
    isWhole,
    chunks: read?.chunks ?? [answer],
    candidate: (answer["candidates"] as Body[] | undefined)?.[0] ?? {},
    answer,
    error: read?.error ?? (answer["error"] as Body | undefined),
    sent: upstream.requests.map((request) => request.body),
    decisions: decisions.map((one) => `${one["action"]} ${one["path"]}: ${one["reason"]}`),
  };
}
