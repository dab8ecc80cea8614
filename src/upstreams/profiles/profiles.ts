import type { Profile } from "../../turn/profile.ts";
import type { DialectName } from "../../turn/turn.ts";
import { demo } from "./demo.ts";
import { genericChat } from "./generic-chat.ts";
import { genericResponses } from "./generic-responses.ts";
import { scripted } from "./scripted.ts";

/** Every profile by the name that configuration calls it. */
export const profiles: ReadonlyMap<string, Profile> = new Map(
  [genericChat, genericResponses, scripted, demo].map((profile) => [profile.name, profile]),
);

const generic: { readonly [D in DialectName]?: Profile } = {
  chat: genericChat,
  responses: genericResponses,
  scripted,
};

/** The profile of a name or, without one, what any upstream of the dialect is taken for. */
export const profileFor = (name: string | undefined, dialect: DialectName): Profile | undefined =>
  name === undefined ? generic[dialect] : profiles.get(name);
