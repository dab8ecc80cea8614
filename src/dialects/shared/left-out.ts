import type { Part } from "../../turn/turn.ts";

/** What a model is told in place of content that its dialect has no form for: it may be all there was. */
export const leftOutText = ({ type }: Part): string =>
  `(Here was ${type === "opaque" ? "" : `${type} `}content that cannot be shown.)`;
