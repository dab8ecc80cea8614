import { z } from "zod";
import { Fault } from "../../turn/fault.ts";
import { shaped } from "./shape.ts";

/** It goes into headers and logs, where a book does not belong. */
const LONGEST = 512;

const name = z
  .string({ error: "must be a string: the name of a model" })
  .max(LONGEST, { error: `must be ${LONGEST} characters at most` });

/** The model that a request names. */
export function readModel(model: unknown): string {
  if (model !== undefined && model !== null && model !== "") return shaped(name, model, "model");
  throw new Fault(
    "request.missing_model",
    "No `model` is named; `GET /v1/models` lists those there are.",
    { param: "model" },
  );
}
