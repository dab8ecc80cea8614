import type { UpstreamName } from "../turn/names.ts";
import type { Tool } from "../turn/turn.ts";
import type { Bound } from "./plan.ts";

/** The declarations as the upstream is sent them. */
export const renderProviderToolDeclarations = (bounds: readonly Bound[]): Tool<UpstreamName>[] =>
  bounds.map((bound) => bound.declaration);
