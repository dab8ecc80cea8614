import type { DialectName, Extra } from "../../turn/turn.ts";

/** Reports the fields that were kept for another dialect than the one written; null says nothing. */
export function reportForeign(
  extra: Extra | undefined,
  own: DialectName,
  report: (reason: string) => void,
): void {
  if (extra === undefined || extra.dialect === own) return;
  for (const [key, value] of Object.entries(extra.fields))
    if (value !== null) report(`\`${key}\` is a field of the ${extra.dialect} dialect`);
}
