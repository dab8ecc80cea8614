import { expect, it } from "vitest";
import { stillClock } from "../../test/support/still-clock.ts";
import { turn } from "../../test/support/store-suite.ts";
import { Fault } from "../turn/fault.ts";
import { recordOf, type WriteBatch, type TurnRows } from "./records.ts";
import { WriteQueue } from "./write-queue.ts";

const record = (answerId: string, tenant = "ann") =>
  recordOf(turn({ tenant, answerId, items: [{ id: answerId, json: "{}" }] }), 1000);
const idOf = ({ entries }: TurnRows): string => entries[0]?.id ?? "";
const away = new Fault("store.unavailable", "The database is away.");
const ticks = async (): Promise<void> => {
  for (let at = 0; at < 5; at++) await new Promise((resolve) => setImmediate(resolve));
};

/** A queue before a database that does as the test says, and all that it was asked to write. */
function queue(
  write: (batch: WriteBatch) => Promise<void> = () => Promise.resolve(),
  gatherMs = 10,
) {
  const clock = stillClock();
  const batches: string[] = [];
  const states: (string | undefined)[] = [];
  const made = new WriteQueue({
    clock,
    gatherMs,
    write: (batch) => {
      batches.push(batch.turns.map(idOf).join(" "));
      return write(batch);
    },
    onState: (fault) => void states.push(fault?.code),
  });
  return { clock, batches, states, queue: made };
}

it("writes a turn at once, and those that follow it together", async () => {
  const { clock, batches, queue: made } = queue();
  await made.add(record("a"));
  const more = [made.add(record("b")), made.add(record("c"))];
  await ticks();
  expect(batches).toEqual(["a"]);
  clock.move(10);
  await Promise.all(more);
  expect(batches).toEqual(["a", "b c"]);
});

it("lets what nobody waits for gather for longer, until something comes that is waited for", async () => {
  const { clock, batches, queue: made } = queue();
  const plan = { json: () => "{}", bytes: 2 };
  const usage = (answerId: string) => recordOf(turn({ answerId, plan }), 1000);
  await made.add(record("a"));
  const more = [made.add(usage("b"))];
  clock.move(10);
  await ticks();
  more.push(made.add(usage("c")));
  expect(batches).toEqual(["a"]);
  clock.move(40);
  await Promise.all(more);
  const last = [made.add(usage("d"))];
  clock.move(10);
  last.push(made.add(record("e")));
  await Promise.all(last);
  expect(batches).toEqual(["a", "b c", "d e"]);
});

it("writes at once where enough turns wait that share a write", async () => {
  const { batches, queue: made } = queue();
  await made.add(record("a"));
  await Promise.all(["b", "c", "d", "e", "f", "g", "h", "i"].map((id) => made.add(record(id))));
  expect(batches).toEqual(["a", "b c d e f g h i"]);
});

it("does not let a reader wait for others to gather", async () => {
  const { batches, queue: made } = queue();
  await made.add(record("a"));
  void made.add(record("b"));
  expect(made.settled("bob")).toBeUndefined();
  await made.settled("ann");
  expect(batches).toEqual(["a", "b"]);
});

it("tries until the database is back, and writes the same batch with the same id", async () => {
  const ids: string[] = [];
  let isAway = true;
  const {
    clock,
    batches,
    states,
    queue: made,
  } = queue(({ id }) => {
    ids.push(id);
    return isAway ? Promise.reject(away) : Promise.resolve();
  });
  const saving = [made.add(record("a"))];
  await ticks();
  saving.push(made.add(record("b")));
  expect(() => made.settled("ann")).toThrow("The database is away.");
  clock.move(100);
  await ticks();
  isAway = false;
  clock.move(5000);
  await ticks();
  clock.move(5000);
  await Promise.all(saving);
  expect(batches).toEqual(["a", "a", "a", "b"]);
  expect(new Set(ids.slice(0, 3)).size).toBe(1);
  expect(states).toEqual(["store.unavailable", undefined]);
});

it("gives up the one turn that cannot be written, and none of the others", async () => {
  const refused = new Fault("gateway.internal", "no");
  const { queue: made } = queue(({ turns }) =>
    turns.some((turn) => idOf(turn) === "b") ? Promise.reject(refused) : Promise.resolve(),
  );
  const results = await Promise.allSettled(["a", "b", "c"].map((id) => made.add(record(id))));
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
});

it("holds a bounded amount while the database is away", async () => {
  const { queue: made } = queue(() => Promise.reject(away));
  const [entry] = record("a").entries;
  if (entry === undefined) throw new Error("an entry");
  const large = { ...record("a"), entries: [{ ...entry, bytes: 20_000_000 }] };
  const first = made.add(large);
  await ticks();
  await expect(made.add(large)).rejects.toBe(away);
  await made.close();
  await expect(first).rejects.toMatchObject({ code: "store.unavailable" });
});

it("writes what is queued before it closes, and takes nothing after", async () => {
  const { batches, queue: made } = queue();
  await made.add(record("a"));
  const last = made.add(record("b"));
  await made.close();
  await last;
  expect(batches).toEqual(["a", "b"]);
  await expect(made.add(record("c"))).rejects.toMatchObject({ code: "store.unavailable" });
});

it("takes no more turns than it has room for while the database is away, however small they are", async () => {
  const { queue: made } = queue(() => Promise.reject(away));
  let refused = 0;
  const all = Array.from({ length: 10_000 }, async (_, at) => {
    await made.add(record(`r${at}`)).catch(() => refused++);
  });
  await ticks();
  expect(10_000 - refused).toBeLessThan(5000);
  await made.close();
  await Promise.all(all);
  expect(refused).toBe(10_000);
});
