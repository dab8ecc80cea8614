/** The list of models, in a body that clients of both families read. */

import type { Fields } from "../../turn/turn.ts";
import type { ListedModel, ModelListForm } from "../dialect.ts";

/** Each entry in the words of both families of clients: some read one list with either. */
const entry = ({ id, owner }: ListedModel): Fields => ({
  type: "model",
  id,
  display_name: id,
  created_at: "1970-01-01T00:00:00Z",
  object: "model",
  created: 0,
  owned_by: owner,
});

export const modelList: ModelListForm = {
  isAskedBy: (headers) => headers["anthropic-version"] !== undefined,
  list: (models) => ({
    object: "list",
    data: models.map(entry),
    has_more: false,
    first_id: models[0]?.id ?? null,
    last_id: models.at(-1)?.id ?? null,
  }),
  model: entry,
};
