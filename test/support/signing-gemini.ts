/** A Gemini upstream that signs its answers, and refuses what Google refuses. */

import { createHash } from "node:crypto";
import { answerWithParts } from "./fake-gemini.ts";
import {
  fakeUpstream,
  json,
  type Body,
  type FakeUpstream,
  type ReceivedRequest,
} from "./fake-upstream.ts";
import { geminiRefusal } from "./strict-gemini.ts";

export type SigningGemini = AsyncDisposable & {
  readonly upstream: FakeUpstream;
  /** Everything that it refused. */
  readonly refusals: readonly string[];
  /** The signature of each call that was signed, by the call's id, of all models. */
  readonly signed: ReadonlyMap<string, string>;
  /** The contents of the last request. */
  last(): readonly Body[];
};

/** The parts of the answer to a conversation; signatures are added. */
export type SayParts = (
  contents: readonly Body[],
  index: number,
  request: ReceivedRequest,
) => readonly Body[];

/**
 * `upstream`: answers by `say`. The first call of an answer is signed, or else its last text.
 * A signature that this model did not make is refused, and so is one on another part.
 */
export async function signingGemini(say: SayParts): Promise<SigningGemini> {
  const refusals: string[] = [];
  const signed = new Map<string, string>();
  const makers = new Map<string, string>();
  const calls = new Map<string, string>();
  let last: readonly Body[] = [];
  let made = 0;
  const sign = (model: string): string => {
    // Bytes of every kind, and as long as signatures grow.
    const seed = createHash("sha512").update(`${model} ${made++}`).digest();
    const signature = Buffer.concat(Array.from({ length: 1 + (made % 40) }, () => seed)).toString(
      "base64",
    );
    makers.set(signature, model);
    return signature;
  };
  const upstream = await fakeUpstream((request, index) => {
    const { path, body } = request;
    const [, model = ""] = /\/models\/([^:]+):/.exec(path) ?? [];
    const contents = (body["contents"] ?? []) as Body[];
    last = contents;
    const refusal =
      geminiRefusal(body, { model, isOwn: (one) => makers.get(one) === model }) ??
      moved(contents, calls);
    if (refusal !== undefined) {
      refusals.push(refusal);
      return json({ error: { code: 400, message: refusal, status: "INVALID_ARGUMENT" } }, 400);
    }
    if (path.includes(":countTokens")) return json({ totalTokens: 1 });
    const parts: Body[] = structuredClone([...say(contents, index, request)]);
    const call = parts.find((part) => part["functionCall"] !== undefined);
    const text = parts.findLast((part) => part["text"] !== undefined && part["thought"] !== true);
    const owner = call ?? text;
    if (owner !== undefined) owner["thoughtSignature"] = sign(model);
    const id = (call?.["functionCall"] as Body | undefined)?.["id"] as string | undefined;
    const signature = owner?.["thoughtSignature"] as string | undefined;
    if (call !== undefined && signature !== undefined) calls.set(signature, contentOf(call));
    if (id !== undefined) signed.set(id, signature ?? "");
    return answerWithParts(path, { parts });
  });
  return {
    upstream,
    refusals,
    signed,
    last: () => last,
    [Symbol.asyncDispose]: () => upstream[Symbol.asyncDispose](),
  };
}

const contentOf = ({ functionCall }: Body): string =>
  JSON.stringify([functionCall.name, functionCall.args ?? {}]);

/** A signature on another call than the one that it was made for. `calls`: those, by their signatures. */
function moved(contents: readonly Body[], calls: ReadonlyMap<string, string>): string | undefined {
  for (const { parts } of contents)
    for (const part of parts as Body[]) {
      const made = calls.get(part["thoughtSignature"] as string);
      if (made === undefined) continue;
      if (part["functionCall"] === undefined || made !== contentOf(part))
        return "Thought signature is not valid.";
    }
  return undefined;
}

/** The signatures of the calls in a conversation, by the calls' ids. */
export const signaturesIn = (contents: readonly Body[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    contents
      .flatMap(({ parts }) => parts as Body[])
      .filter((part) => part["functionCall"] !== undefined)
      .map((part) => [(part["functionCall"] as Body)["id"] as string, part["thoughtSignature"]]),
  );
