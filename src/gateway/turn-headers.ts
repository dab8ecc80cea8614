/** What the head of every reply to a turn says of it. */

import type { DoorDialect } from "../dialects/dialect.ts";
import { summary } from "../tools/plan/plan.ts";
import type { CallRules } from "../turn/rules.ts";
import type { Round } from "./round.ts";
import { linkName } from "./select.ts";

type TurnHead = {
  readonly requestId: string;
  readonly door: DoorDialect;
  readonly rules: CallRules;
};

export function turnHeaders(
  { requestId, door: { requestIdHeader = "x-request-id" }, rules }: TurnHead,
  round: Round | undefined,
): Record<string, string> {
  const { stopMode, output } = rules;
  const headers: Record<string, string> = {
    "x-request-id": requestId,
    [requestIdHeader]: requestId,
    "x-codex-stop-after-tools-mode": stopMode,
  };
  if (output !== undefined) headers["x-proxy-output-mode"] = output;
  if (round === undefined) return headers;
  const { link, plan } = round;
  headers["x-patchbay-upstream"] = headerText(linkName(link));
  if (plan.verdicts.length > 0) headers["x-patchbay-plan"] = summary(plan);
  return headers;
}

/** A model's name may be the client's own words; a header takes only some characters, and not many. */
const headerText = (text: string): string =>
  PLAIN_TEXT.test(text)
    ? text
    : text
        .slice(0, 256)
        .toWellFormed()
        .replaceAll(/[^\x20-\x7e]+/g, encodeURIComponent);

const PLAIN_TEXT = /^[\x20-\x7e]{0,256}$/;
