import { expect, it } from "vitest";
import { stillClock } from "../../../../test/support/still-clock.ts";
import { storedAnswers } from "../../../dialects/responses/history.ts";
import { responseKey, type Key } from "../../../history/log.ts";
import { MemoryLog } from "../../../history/memory-log.ts";
import type { RequestContext } from "../../state.ts";
import { reattach } from "./reattach.ts";
import { pieceId } from "./runs.ts";

const frame = (number: number, name = "response.output_text.delta"): string =>
  `event: ${name}\ndata: {"type":"${name}","sequence_number":${number}}\n\n`;

const key: Key = responseKey("ann", "resp_1");

/** The stream of an answer whose events another process has stored in pieces. */
async function streamOf(pieces: readonly string[], mostAtOnce: number): Promise<string> {
  const clock = stillClock();
  const store = new MemoryLog(clock);
  const notes = pieces.map((text, at) => ({ id: pieceId(key.id, at), json: JSON.stringify(text) }));
  const json = JSON.stringify({
    id: key.id,
    object: "response",
    status: "completed",
    background: true,
  });
  void store.append({
    tenant: key.tenant,
    at: 0,
    answerId: key.id,
    items: [],
    notes,
    response: { input: [], json },
  });
  const find = store.find.bind(store);
  // As where the next pieces together are larger than one read may be.
  store.find = (query, weigh) =>
    find({ ...query, maxBytes: query.maxBytes === Infinity ? Infinity : mostAtOnce }, weigh);
  let sent = "";
  const reply = {
    head: () => {},
    write: (text: string) => ((sent += text), true),
    end: (text = "") => void (sent += text),
    onDrain: () => {},
    onLeave: () => {},
  };
  const context = {
    state: {
      store,
      clock,
      config: { server: { keepalive_ms: 0 } },
      background: { find: () => undefined, isMade: async () => false },
    },
    tenant: key.tenant,
    requestId: "req_1",
    params: { id: key.id },
    exchange: { reply },
    memory: { beside: () => ({ load: () => {}, [Symbol.dispose]: () => {} }) },
  };
  await reattach(context as unknown as RequestContext, storedAnswers, -1);
  return sent;
}

it.each([10_000, 100])(
  "sends every event of an answer that is over, with reads of at most %i bytes",
  async (most) => {
    const pieces = [frame(0) + frame(1), frame(2), frame(3, "response.completed")];
    expect(await streamOf(pieces, most)).toBe(`${pieces.join("")}data: [DONE]\n\n`);
  },
);
