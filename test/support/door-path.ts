import type { DoorDialect } from "../../src/dialects/dialect.ts";

/** The path to post a request to, with the model and the action of doors that have them there. */
export const doorPath = (
  { routes: [route = ""] }: DoorDialect,
  { model = "m", action = "generateContent" } = {},
): string => route.replace("{model}", model).replace("{action}", action);
