import { fakeUpstream, type Body } from "../support/fake-upstream.ts";
import { onto, serve } from "../support/serve.ts";
import { backs, type Back, type Say } from "./backs.ts";
import { doors } from "./doors.ts";
import { someTools } from "./tools.ts";

/** One request of a conversation as the upstream got it. */
export type Sent = {
  /** Bytes of tools: definitions, catalogue and opened sections. */
  readonly tools: number;
  /** Bytes of tools and conversation that begin as those of the request before, and the others. */
  readonly cached: number;
  readonly uncached: number;
};

export type Conversation = {
  readonly sent: readonly Sent[];
  /** The calls that the client was given, by name. */
  readonly calls: readonly string[];
  /** Whether each request begins with all of the one before. */
  readonly isPrefixKept: boolean;
  readonly hiddenRounds: number;
};

const TURNS = 20;

/** Which tool each turn is about: a task of twelve turns, then one of eight with other tools. */
const wantedIn = (turn: number): { readonly name: string; readonly section: string } => {
  const [thing, verbs] =
    turn < 12
      ? ["ticket", ["create", "list", "search", "update", "close"]]
      : ["invoice", ["create", "list", "search"]];
  return { name: `${thing}_${verbs[turn % verbs.length]}`, section: `${thing}_1` };
};

/** A model that calls the tool that the user asks for, and reads its section before it does. */
function sayFor(asked: Body, back: Back): Say {
  const items = back.items(asked);
  const last = items.at(-1) ?? {};
  const text = JSON.stringify(items);
  const [, name = "", section = ""] = [...text.matchAll(/Use (\w+) of (\w+)\./g)].at(-1) ?? [];
  const isDone = /Done with it/.test(JSON.stringify(last));
  if (isDone) return { text: "That is done." };
  const isKnown =
    back.tools(asked).includes(name) ||
    text.includes(`- \`${name}\`:`) ||
    text.includes(`"name":"${name}","description"`) ||
    items.some((item) => JSON.stringify(item["tools"] ?? "").includes(`"name":"${name}"`));
  return isKnown ? { calls: [{ name, section, arguments: { id: "7" } }] } : { reads: [section] };
}

const serialized = (asked: Body, back: Back): string =>
  JSON.stringify(asked["tools"] ?? []).slice(0, -1) +
  JSON.stringify(back.items(asked)).slice(0, -1);

/** What of a conversation tells the model about tools. */
function toolText(asked: Body, back: Back): string {
  const told = back
    .items(asked)
    .filter((item) =>
      /Tools of this section|Content of section|Sections, with|tool_search_output/.test(
        JSON.stringify(item),
      ),
    )
    .map((item) => JSON.stringify(item));
  return JSON.stringify(asked["tools"] ?? []) + told.join("");
}

function sharedLength(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  return at;
}

/** Twenty turns of a chat client with so many tools, by a strategy or by sending all of them. */
export async function converse(
  count: number,
  strategy: Back["strategy"] | "eager",
): Promise<Conversation> {
  const back = backs.find((one) => one.strategy === strategy) ?? backs[0];
  if (back === undefined) throw new Error("there are no backs");
  const direct: Back = strategy === "eager" ? { ...back, strategy: "append" } : back;
  await using upstream = await fakeUpstream(({ body }, at) => {
    const say = sayFor(body, back);
    return strategy === "eager"
      ? back.answer(body, { ...say, calls: [], plain: say.calls ?? [] }, at)
      : back.answer(body, say, at);
  });
  const max = strategy === "eager" ? 10_000 : 128;
  const more = { ...back.more, capabilities: { tools: { max } } };
  await using served = await serve(onto(back.dialect, upstream.url, more));
  const talk = doors.chat(served);
  const asking = { tools: someTools(count), stream: false, mode: strategy };
  const calls: string[] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    const { name, section } = wantedIn(turn);
    const first = await talk.ask(`Use ${name} of ${section}.`, asking);
    calls.push(...first.calls.map((call) => call.name));
    await talk.ask(
      first.calls.map(() => "Done with it."),
      asking,
    );
  }
  const texts = upstream.requests.map(({ body }) => serialized(body, direct));
  const sent = upstream.requests.map(({ body }, at): Sent => {
    const cached = sharedLength(texts[at - 1] ?? "", texts[at] ?? "");
    return {
      tools: toolText(body, direct).length,
      cached,
      uncached: (texts[at]?.length ?? 0) - cached,
    };
  });
  return {
    sent,
    calls,
    isPrefixKept: texts.every((text, at) => at === 0 || text.startsWith(texts[at - 1] ?? "")),
    hiddenRounds: upstream.requests.length - 2 * TURNS,
  };
}

export const sumOf = (sent: readonly Sent[], of: keyof Sent): number =>
  sent.reduce((sum, one) => sum + one[of], 0);

export const wantedCalls = Array.from({ length: TURNS }, (_, turn) => wantedIn(turn).name);
