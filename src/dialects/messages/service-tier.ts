import type { Params } from "../../turn/turn.ts";

/** `standard_only` is what others call `default`: no better service than is paid for. */
export const readTier = (tier: string | undefined): Pick<Params, "serviceTier"> =>
  tier === undefined ? {} : { serviceTier: tier === "standard_only" ? "default" : tier };

const words: ReadonlyMap<string, string> = new Map([
  ["auto", "auto"],
  ["default", "standard_only"],
  ["standard_only", "standard_only"],
]);

/** Undefined for a tier that is not to be had here. */
export const writeTier = (tier: string): string | undefined => words.get(tier);
