import type { Dialect } from "../dialect.ts";
import { readEvents } from "./read-events.ts";
import { readRequest } from "./read-request.ts";
import { writeAnswer } from "./resource.ts";
import { writeEvents } from "./write-events.ts";
import { writeRequest } from "./write-request.ts";

/** The OpenAI Responses API. */
export const responses: Dialect = {
  name: "responses",
  endsCalls: true,
  choices: 1,
  readRequest,
  writeRequest,
  readEvents,
  writeEvents,
  writeAnswer,
};
