/** Adds up metrics in the Prometheus text format, as this project's registry writes it. */

type Family = {
  readonly head: readonly string[];
  readonly isGauge: boolean;
  readonly samples: Map<string, number>;
};

/** The sum of the running processes' metrics, and of all that the ended ones counted; their gauges are over. */
export function sumMetrics(running: readonly string[], ...ended: readonly string[]): string {
  const families = new Map<string, Family>();
  for (const text of running) add(families, text, true);
  for (const text of ended) add(families, text, false);
  let text = "";
  for (const { head, samples } of families.values()) {
    text += `${head.join("\n")}\n`;
    for (const [series, amount] of samples) text += `${series} ${amount}\n`;
  }
  return text;
}

function add(families: Map<string, Family>, text: string, isRunning: boolean): void {
  let help = "";
  let family: Family | undefined;
  for (const line of text.split("\n")) {
    if (line.startsWith("# HELP ")) help = line;
    else if (line.startsWith("# TYPE ")) family = familyOf(families, help, line);
    else if (line !== "" && family !== undefined && (isRunning || !family.isGauge)) {
      const space = line.lastIndexOf(" ");
      const series = line.slice(0, space);
      family.samples.set(series, (family.samples.get(series) ?? 0) + Number(line.slice(space + 1)));
    }
  }
}

function familyOf(families: Map<string, Family>, help: string, type: string): Family {
  const known = families.get(type);
  if (known !== undefined) return known;
  const made = { head: [help, type], isGauge: type.endsWith(" gauge"), samples: new Map() };
  families.set(type, made);
  return made;
}
