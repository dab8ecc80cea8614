import { responses } from "../../src/dialects/responses/responses.ts";
import { readRequest } from "../../src/dialects/chat/read-request.ts";
import { writeRequest } from "../../src/dialects/chat/write-request.ts";
import type { Decision } from "../../src/turn/decision.ts";
import type { UpstreamName } from "../../src/turn/names.ts";
import type { Profile } from "../../src/turn/profile.ts";
import type { Fields, Item, Turn } from "../../src/turn/turn.ts";

const profile: Profile = {
  name: "test",
  dialect: "chat",
  tools: {
    kinds: { "*": "native" },
    max: 128,
    names: { chars: "A-Za-z0-9_-", max: 64 },
    choice: ["auto", "none", "required", "function", "allowed"],
    parallel: true,
    declares: "turn",
    deferred: false,
    cached: false,
  },
  params: {},
  formats: ["text", "json", "schema"],
  reasoning: "reasoning_content",
  streamUsage: true,
};
type Body = Fields & { readonly messages: readonly Fields[] };

export function write(
  turn: Turn<UpstreamName>,
  more: Partial<Profile> = {},
  straight = false,
): { body: Body; decisions: readonly Decision[] } {
  const { text, decisions } = writeRequest(turn, {
    profile: { ...profile, ...more },
    model: "up",
    straight,
  });
  return { body: JSON.parse(text) as Body, decisions };
}

/** A turn as a chat client sends it, with names that need no change. */
export const fromChat = (body: Fields): Turn<UpstreamName> =>
  readRequest({
    model: "m",
    messages: [{ role: "user", content: "Hi" }],
    ...body,
  }) as unknown as Turn<UpstreamName>;

/** A turn as a client of another dialect sends it. */
export const fromElsewhere = (
  items: readonly Item<UpstreamName>[],
  more: Partial<Turn<UpstreamName>> = {},
): Turn<UpstreamName> => ({
  dialect: "responses",
  traits: responses.traits,
  model: "m",
  items,
  tools: [],
  params: {},
  stream: false,
  usageWanted: true,
  extra: { dialect: "responses", fields: {} },
  body: { input: [] },
  ...more,
});
