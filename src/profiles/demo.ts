import type { Profile } from "../turn/profile.ts";
import { genericChat } from "./generic-chat.ts";
import { scripted } from "./scripted.ts";

/** The embedded model: it calls what the client runs, and can search or draw nothing itself. */
export const demo: Profile = {
  ...scripted,
  name: "demo",
  tools: {
    ...scripted.tools,
    kinds: { ...genericChat.tools.kinds, custom: "native" },
    names: genericChat.tools.names,
  },
  params: { ...scripted.params, logprobs: null, audio: null, webSearch: null },
};
