/** A minimal client for every door, for `patchbay smoke`. */

import type { DialectName } from "../../src/terminal.ts";
import { chatClient } from "./chat.ts";
import { messagesClient } from "./messages.ts";
import { responsesClient } from "./responses.ts";
import type { SmokeClient } from "./seen.ts";

/** One for every door that a gateway has by itself. */
export const clients: readonly SmokeClient[] = [chatClient, responsesClient, messagesClient];

export function clientOf(door: DialectName): SmokeClient {
  const client = clients.find((one) => one.door === door);
  if (client === undefined) throw new Error(`nobody here speaks ${door}`);
  return client;
}
