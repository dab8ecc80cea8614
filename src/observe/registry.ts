/** Counters in the Prometheus text format: written by one process, and added up over several. */

export const contentType = "text/plain; version=0.0.4; charset=utf-8";

/** One number; of a histogram, the sum of its values, with a count for each of its buckets. */
export class Series {
  amount = 0;
  readonly labels: string;
  readonly counts: number[];
  readonly #buckets: readonly number[];

  constructor(labels: string, buckets: readonly number[] = []) {
    this.labels = labels;
    this.#buckets = buckets;
    this.counts = Array<number>(buckets.length + 1).fill(0);
  }

  observe(value: number): void {
    const buckets = this.#buckets;
    let at = 0;
    while (at < buckets.length && value > (buckets[at] ?? 0)) at++;
    this.counts[at] = (this.counts[at] ?? 0) + 1;
    this.amount += value;
  }
}

type FamilyType = "counter" | "gauge" | "histogram";

/** All series of one name. */
export class Family {
  readonly #type: FamilyType;
  readonly #help: string;
  readonly #labels: readonly string[];
  readonly #buckets: readonly number[] | undefined;
  readonly #series = new Map<string, Series>();

  /** `labels`: their names, with blanks between them. */
  constructor(type: FamilyType, help: string, labels = "", buckets?: readonly number[]) {
    this.#type = type;
    this.#help = help;
    this.#labels = labels === "" ? [] : labels.split(" ");
    this.#buckets = buckets;
    // Without labels there is one series, and it is there from the start.
    if (labels === "") this.of();
  }

  /** The series of the values of the labels, in their order. Callers that count often keep it. */
  of(...values: readonly string[]): Series {
    const key = values.join("\n");
    let series = this.#series.get(key);
    if (series === undefined) {
      const labels = this.#labels.map((name, at) => `${name}="${escaped(values[at] ?? "")}"`);
      this.#series.set(key, (series = new Series(labels.join(","), this.#buckets)));
    }
    return series;
  }

  text(name: string): string {
    const lines = [...this.#series.values()].flatMap((series) =>
      this.#buckets === undefined
        ? [`${name}${braced(series.labels)} ${series.amount}`]
        : histogramLines(name, series, this.#buckets),
    );
    return [`# HELP ${name} ${this.#help}`, `# TYPE ${name} ${this.#type}`, ...lines, ""].join(
      "\n",
    );
  }
}

function histogramLines(
  name: string,
  { labels, counts, amount }: Series,
  buckets: readonly number[],
): string[] {
  const before = labels === "" ? "" : `${labels},`;
  let total = 0;
  const lines = counts.map((count, at) => {
    total += count;
    return `${name}_bucket{${before}le="${buckets[at] ?? "+Inf"}"} ${total}`;
  });
  const own = braced(labels);
  return [...lines, `${name}_sum${own} ${amount}`, `${name}_count${own} ${total}`];
}

const escaped = (value: string): string =>
  value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");

const braced = (labels: string): string => (labels === "" ? "" : `{${labels}}`);

type Samples = { readonly help: string; readonly amounts: Map<string, number> };

/** The sum of the metrics of running processes and of ended ones, whose gauges no longer count. */
export function sumMetrics(running: readonly string[], ...ended: readonly string[]): string {
  const families = new Map<string, Samples>();
  for (const [at, text] of [...running, ...ended].entries()) {
    let help = "";
    let amounts: Samples["amounts"] | undefined;
    for (const line of text.split("\n")) {
      if (line.startsWith("# HELP ")) help = line;
      else if (line.startsWith("# TYPE ")) {
        if (!families.has(line)) families.set(line, { help, amounts: new Map() });
        const isOver = line.endsWith(" gauge") && at >= running.length;
        amounts = isOver ? undefined : families.get(line)?.amounts;
      } else if (line !== "" && amounts !== undefined) {
        const space = line.lastIndexOf(" ");
        const series = line.slice(0, space);
        amounts.set(series, (amounts.get(series) ?? 0) + Number(line.slice(space + 1)));
      }
    }
  }
  return Array.from(families, ([type, { help, amounts }]) =>
    [help, type, ...Array.from(amounts, (sample) => sample.join(" ")), ""].join("\n"),
  ).join("");
}
