import type { Dialect } from "../dialect.ts";
import { readEvents } from "./read-events.ts";
import { readRequest } from "./read-request.ts";
import { writeAnswer } from "./write-answer.ts";
import { writeEvents } from "./write-events.ts";
import { writeRequest } from "./write-request.ts";

/** OpenAI Chat Completions, and whoever calls itself compatible. */
export const chat: Dialect = {
  name: "chat",
  endsCalls: false,
  choices: Infinity,
  readRequest,
  writeRequest,
  readEvents: (context) => readEvents(context),
  writeEvents,
  writeAnswer,
};
