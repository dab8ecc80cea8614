import { whole, type Kind } from "./kind.ts";

/**
 * Searching is the provider's work, and clients expect to see only that it was
 * done. Where a profile asks for a stand-in all the same, the client itself is
 * to search: it gets a plain function call.
 */
export const webSearchKind: Kind = {
  kind: "web_search",
  aliases: /^web_search(_preview)?(_\d{4}_\d{2}_\d{2})?$/,
  standIn: {
    restoredAs: "function",
    declare: () => ({
      description: "Searches the web and gives back titles, addresses and excerpts.",
      schema: {
        type: "object",
        properties: { query: { type: "string", description: "What to search for." } },
        required: ["query"],
        additionalProperties: false,
      },
      losses: ["the client has to run the search itself"],
    }),
    encode: (input) => input,
    decoder: () => whole((text) => text),
  },
};
