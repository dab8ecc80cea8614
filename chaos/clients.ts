/** Clients of every door, with the answers that each must receive. */

import { builtinDialects } from "../src/dialects/registry.ts";
import { doorPath } from "../test/support/door-path.ts";
import { truthOf } from "./upstream.ts";

export type Verdict =
  | { readonly type: "answered" | "refused" | "failed" | "left" | "cut" }
  | { readonly type: "wrong"; readonly why: string };

const bodies: Readonly<Record<string, (text: string, stream: boolean) => object>> = {
  chat: (content, stream) => ({ model: "m", stream, messages: [{ role: "user", content }] }),
  responses: (input, stream) => ({ model: "m", stream, input }),
  messages: (content, stream) => ({
    model: "m",
    stream,
    max_tokens: 999,
    messages: [{ role: "user", content }],
  }),
  gemini: (text) => ({ contents: [{ role: "user", parts: [{ text }] }] }),
};

/** The end of a stream at a door, and the report of a failed one. */
type Ends = {
  readonly good: RegExp;
  readonly bad: RegExp;
  /** After a failed stream it breaks the connection off. */
  readonly isBroken?: true;
};

const ends: Readonly<Record<string, Ends>> = {
  chat: { good: /"finish_reason":"stop"/g, bad: /^data: \{"error"/gm },
  responses: {
    good: /^event: response\.completed$/gm,
    bad: /^event: response\.failed$/gm,
  },
  messages: { good: /^event: message_stop$/gm, bad: /^event: error$/gm },
  gemini: { good: /"finishReason":"STOP"/g, bad: /^data: \{"error"/gm, isBroken: true },
};

const doors = builtinDialects.doors;

type Frame = {
  readonly type?: string;
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
  readonly delta?: string | { readonly text?: string };
  readonly candidates?: readonly {
    readonly content?: { readonly parts?: readonly { readonly text?: string }[] };
  }[];
};

/** The words of a stream in their order, by the deltas of whichever door. */
function wordsIn(text: string): string {
  return text
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => {
      const { type, choices, delta, candidates } = JSON.parse(line.slice(6)) as Frame;
      if (candidates !== undefined)
        return (candidates[0]?.content?.parts ?? []).map((part) => part.text ?? "").join("");
      if (choices !== undefined) return choices[0]?.delta?.content ?? "";
      if (typeof delta === "string") return type === "response.output_text.delta" ? delta : "";
      return type === "content_block_delta" ? (delta?.text ?? "") : "";
    })
    .join("");
}

let made = 0;

/** Asks once; `url` is the gateway's. */
export async function askOnce(
  url: string,
  keys: readonly string[],
): Promise<{ nonce: string; verdict: Verdict }> {
  const nonce = `n${(++made).toString(36)}x${Math.random().toString(36).slice(2, 10)}`;
  const door = doors[made % doors.length];
  if (door === undefined) throw new Error("there are no doors");
  const stream = Math.random() < 0.7;
  const action = stream ? "streamGenerateContent" : "generateContent";
  const leaves = Math.random() < 0.08;
  const make = bodies[door.name];
  const end = ends[door.name];
  if (make === undefined || end === undefined)
    throw new Error(`add the ${door.name} door to chaos/clients.ts`);
  const aborter = new AbortController();
  try {
    const response = await fetch(
      `${url}${doorPath(door.door, { action })}${stream ? "?alt=sse" : ""}`,
      {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "x-api-key": keys[made % keys.length] ?? "",
        },
        body: JSON.stringify(make(`nonce:${nonce}`, stream)),
        signal: AbortSignal.any([aborter.signal, AbortSignal.timeout(60_000)]),
      },
    );
    if (leaves) setTimeout(() => aborter.abort(), Math.random() * 60);
    const { text, fault } = await textOf(response);
    // The end of a broken stream is the event that says why.
    if (fault !== undefined && !(end.isBroken === true && text.match(end.bad)?.length === 1))
      throw fault;
    return { nonce, verdict: judge({ nonce, stream, text, status: response.status, end }) };
  } catch (error) {
    if (error instanceof Error && error.name === "TimeoutError")
      return {
        nonce,
        verdict: {
          type: "wrong",
          why: `no end within a minute: ${door.name}${stream ? ", a stream" : ""}`,
        },
      };
    return { nonce, verdict: { type: leaves ? "left" : "cut" } };
  }
}

/** The text of an answer as far as it came, and the reason why it came no further. */
async function textOf({ body }: Response): Promise<{ text: string; fault?: unknown }> {
  const decoder = new TextDecoder();
  let text = "";
  try {
    for await (const piece of body ?? []) text += decoder.decode(piece, { stream: true });
    return { text };
  } catch (fault) {
    return { text, fault };
  }
}

type Told = {
  readonly nonce: string;
  readonly stream: boolean;
  readonly text: string;
  readonly status: number;
  readonly end: Ends;
};

function judge({ nonce, stream, text, status, end }: Told): Verdict {
  const foreign = (text.match(/\bn\w+x\w{4,8}(?=-\d)/g) ?? []).find((one) => one !== nonce);
  if (foreign !== undefined) return { type: "wrong", why: `foreign words: ${foreign}` };
  if (status !== 200) {
    if (text.includes('"error"')) return { type: "refused" };
    return { type: "wrong", why: `a ${status} without an error: ${text.slice(0, 200)}` };
  }
  const truth = truthOf(nonce);
  const words = stream ? wordsIn(text) : text;
  if (!stream)
    return text.includes(truth)
      ? { type: "answered" }
      : { type: "wrong", why: `not the truth: ${words.slice(0, 300)}` };
  const good = text.match(end.good)?.length ?? 0;
  const bad = text.match(end.bad)?.length ?? 0;
  if (good + bad !== 1)
    return { type: "wrong", why: `${good} good and ${bad} bad ends: ${text.slice(-400)}` };
  if (!truth.startsWith(words) && !words.startsWith(truth))
    return { type: "wrong", why: `other words: ${words.slice(0, 300)}` };
  if (good === 1 && !words.startsWith(truth))
    return { type: "wrong", why: `a good end too early: ${words.slice(-100)}` };
  return { type: good === 1 ? "answered" : "failed" };
}
