/** The routes that list models. */

import type { ModelListForm } from "../../dialects/dialect.ts";
import { Fault } from "../../turn/fault.ts";
import type { Fields } from "../../turn/turn.ts";
import { listModels, type ListedModel } from "../run/select.ts";
import type { RequestContext } from "../state.ts";
import { sendJson } from "./send-json.ts";
import { wrongParam } from "./to-fault.ts";

/** `form`: of a dialect that has its own. */
export async function serveModels(context: RequestContext, form?: ModelListForm): Promise<void> {
  const { config, upstreams, clock } = context.state;
  const models = await listModels(config, upstreams, clock);
  const { query } = context.exchange;
  const names = models.map(({ id }) => id);
  sendJson(context, 200, form?.page(names, query) ?? modelPage(models, query));
}

export async function serveModel(context: RequestContext, form?: ModelListForm): Promise<void> {
  const { config, upstreams, clock } = context.state;
  const { "*": id = "" } = context.params;
  const models = await listModels(config, upstreams, clock);
  const model = models.find((known) => known.id === id);
  if (model === undefined)
    throw new Fault(
      "model.unknown",
      `There is no model \`${id.slice(0, 200)}\` here; GET /v1/models lists them.`,
      { param: "model" },
    );
  sendJson(context, 200, form?.model(id) ?? modelBody(model));
}

/** A model in the words of both families of clients. */
const modelBody = ({ id, owner }: ListedModel): Fields => ({
  id,
  object: "model",
  created: 0,
  owned_by: owner,
  type: "model",
  display_name: id,
  created_at: "1970-01-01T00:00:00Z",
});

/** A page of the list; all of it if the request sets no limit. */
function modelPage(models: readonly ListedModel[], query: string): Fields {
  const asked = new URLSearchParams(query);
  const limit = Number(asked.get("limit") ?? Infinity);
  if (!(limit >= 1)) throw wrongParam("limit", "must be a number of at least 1");
  const [after, before] = [asked.get("after_id"), asked.get("before_id")];
  const start = after === null ? 0 : models.findIndex(({ id }) => id === after) + 1;
  const end = before === null ? models.length : models.findIndex(({ id }) => id === before);
  const part = models.slice(start, Math.max(start, end));
  // A page before an id has the models that are nearest to it.
  const page = before === null ? part.slice(0, limit) : part.slice(-limit);
  return {
    object: "list",
    data: page.map(modelBody),
    has_more: page.length < part.length,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  };
}
