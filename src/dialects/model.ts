import { z } from "zod";
import { Fault } from "../turn/fault.ts";
import { shaped } from "./shape.ts";

const name = z.string({ error: "must be a string: the name of a model" });

/** The model that a request names. */
export function readModel(model: unknown): string {
  if (model !== undefined && model !== null && model !== "") return shaped(name, model, "model");
  throw new Fault(
    "request.missing_model",
    "No `model` is named; `GET /v1/models` lists those there are.",
    { param: "model" },
  );
}
