import type { CompactionForm } from "../../dialects/dialect.ts";
import type { Decision } from "../../turn/decision.ts";
import { Fault } from "../../turn/fault.ts";
import { itemPath } from "../../turn/path.ts";
import type { Item, Turn } from "../../turn/turn.ts";
import type { RecalledRequest } from "./recall.ts";
import { isSealed } from "./seal-box.ts";

type Open = (seal: string) => Promise<string | undefined>;

/**
 * Replaces the items that a gateway has sealed by the model's text; seals of providers stay.
 * A request without such items, as most are, is returned at once.
 */
export function openSeals(
  request: RecalledRequest,
  form: CompactionForm | undefined,
  open: Open,
): RecalledRequest | Promise<RecalledRequest> {
  if (form === undefined) return request;
  const hasSeals = request.turn.items.some((item) => sealOf(item, form) !== undefined);
  return hasSeals ? opened(request, form, open) : request;
}

async function opened(
  request: RecalledRequest,
  form: CompactionForm,
  open: Open,
): Promise<RecalledRequest> {
  const { referring } = request;
  const turn = await openedTurn(request.turn, form, open);
  if (referring === undefined) return { ...request, turn };
  const kept = await openedTurn(referring.turn, form, open);
  return { ...request, turn, referring: { ...referring, turn: kept } };
}

function sealOf(item: Item, form: CompactionForm): string | undefined {
  const seal = item.type === "opaque" ? form.sealIn(item) : undefined;
  return seal !== undefined && isSealed(seal) ? seal : undefined;
}

async function openedTurn(turn: Turn, form: CompactionForm, open: Open): Promise<Turn> {
  const repairs: Decision[] = [...(turn.repairs ?? [])];
  const items = await Promise.all(
    turn.items.map(async (item, at) => {
      const seal = sealOf(item, form);
      if (seal === undefined) return item;
      const path = itemPath(turn, at);
      const text = await open(seal);
      if (text === undefined) throw unopened(path);
      repairs.push({ path, action: "reshaped", reason: "the summary in it was opened" });
      return form.opened(text);
    }),
  );
  return { ...turn, items, repairs };
}

/** The text is the same for a changed seal, one of another tenant and one of a gateway with another store. */
const unopened = (path: string): Fault =>
  new Fault(
    "compaction.sealed",
    `\`${path}\` cannot be opened here; send the conversation itself, or have it compacted again.`,
    { param: path },
  );
