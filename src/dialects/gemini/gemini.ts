import type { Dialect } from "../dialect.ts";
import { geminiTraits } from "./traits.ts";

/** Gemini's generateContent API, as Google AI Studio and Vertex AI serve it. */
export const gemini = {
  name: "gemini",
  title: "Gemini",
  traits: geminiTraits,
} as const satisfies Dialect;
