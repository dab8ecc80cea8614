/** The routes that list models. */

import type { ListedModel, ModelListForm } from "../dialects/dialect.ts";
import { Fault } from "../turn/fault.ts";
import type { Fields } from "../turn/turn.ts";
import { listModels } from "./models.ts";
import type { RequestContext } from "./routes.ts";
import { sendJson } from "./send-json.ts";

export async function serveModels(context: RequestContext): Promise<void> {
  const { config, upstreams, clock } = context.state;
  const models = await listModels(config, upstreams, clock);
  sendJson(context, 200, modelListFor(context).list(models));
}

export async function serveModel(context: RequestContext): Promise<void> {
  const { config, upstreams, clock } = context.state;
  const id = decoded(context.rest);
  const models = await listModels(config, upstreams, clock);
  const model = models.find((known) => known.id === id);
  if (model === undefined)
    throw new Fault(
      "model.unknown",
      `There is no model \`${id.slice(0, 200)}\` here; GET /v1/models lists them.`,
      {
        param: "model",
      },
    );
  sendJson(context, 200, modelListFor(context).model(model));
}

const modelBody = ({ id, owner }: ListedModel): Fields => ({
  id,
  object: "model",
  created: 0,
  owned_by: owner,
});

const modelList: Pick<ModelListForm, "list" | "model"> = {
  list: (models) => ({ object: "list", data: models.map(modelBody) }),
  model: modelBody,
};

/** One path lists the models for all clients; the headers tell of which dialect a client is. */
const modelListFor = ({ state, exchange }: RequestContext): typeof modelList =>
  state.dialects.doors.find(({ door }) => door.modelList?.isAskedBy(exchange.headers) === true)
    ?.door.modelList ?? modelList;

/** What the rest of a path says. */
export function decoded(rest: string): string {
  try {
    return decodeURIComponent(rest);
  } catch (error) {
    throw new Fault("request.route", "The path is malformed; check its escapes.", {}, error);
  }
}
