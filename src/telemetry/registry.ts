/**
 * Counters in the Prometheus text format. Written here because it is small and
 * hot: every turn counts half a dozen things, and all that is needed then is to
 * find a number by its labels and add to it.
 */
export type Registry = {
  counter(name: string, help: string, labels?: readonly string[]): Counter;
  gauge(name: string, help: string): Counter;
  histogram(
    name: string,
    help: string,
    labels: readonly string[],
    buckets: readonly number[],
  ): Histogram;
  text(): string;
};

/** Label values come in the order of the label names. */
export type Counter = { add(amount: number, ...values: readonly string[]): void };
export type Histogram = { observe(value: number, ...values: readonly string[]): void };

export const contentType = "text/plain; version=0.0.4; charset=utf-8";

export function createRegistry(): Registry {
  const families: (() => string)[] = [];
  const family = (
    name: string,
    help: string,
    type: string,
    lines: () => Iterable<string>,
  ): void => {
    families.push(() =>
      [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines(), ""].join("\n"),
    );
  };

  const amounts = (
    name: string,
    help: string,
    type: string,
    labels: readonly string[],
  ): Counter => {
    const series = new Map<string, { readonly labels: string; amount: number }>();
    // Without labels there is one series, and it is there from the start.
    if (labels.length === 0) series.set("", { labels: "", amount: 0 });
    family(name, help, type, () =>
      [...series.values()].map((one) => `${name}${braced(one.labels)} ${one.amount}`),
    );
    return {
      add(amount, ...values) {
        const key = values.join("\n");
        let one = series.get(key);
        if (one === undefined)
          series.set(key, (one = { labels: labelText(labels, values), amount: 0 }));
        one.amount += amount;
      },
    };
  };

  return {
    counter: (name, help, labels = []) => amounts(name, help, "counter", labels),
    gauge: (name, help) => amounts(name, help, "gauge", []),
    histogram(name, help, labels, buckets) {
      const series = new Map<string, { labels: string; counts: number[]; sum: number }>();
      family(name, help, "histogram", () =>
        [...series.values()].flatMap((one) =>
          histogramLines(name, one.labels, buckets, one.counts, one.sum),
        ),
      );
      return {
        observe(value, ...values) {
          const key = values.join("\n");
          let one = series.get(key);
          if (one === undefined) {
            one = {
              labels: labelText(labels, values),
              counts: Array(buckets.length + 1).fill(0),
              sum: 0,
            };
            series.set(key, one);
          }
          let at = 0;
          while (at < buckets.length && value > (buckets[at] ?? 0)) at++;
          one.counts[at] = (one.counts[at] ?? 0) + 1;
          one.sum += value;
        },
      };
    },
    text: () => families.map((write) => write()).join(""),
  };
}

function histogramLines(
  name: string,
  labels: string,
  buckets: readonly number[],
  counts: readonly number[],
  sum: number,
): string[] {
  const before = labels === "" ? "" : `${labels},`;
  let total = 0;
  const lines = counts.map((count, at) => {
    total += count;
    return `${name}_bucket{${before}le="${buckets[at] ?? "+Inf"}"} ${total}`;
  });
  return [
    ...lines,
    `${name}_sum${braced(labels)} ${sum}`,
    `${name}_count${braced(labels)} ${total}`,
  ];
}

const labelText = (names: readonly string[], values: readonly string[]): string =>
  names.map((name, at) => `${name}="${escaped(values[at] ?? "")}"`).join(",");

const escaped = (value: string): string =>
  value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");

const braced = (labels: string): string => (labels === "" ? "" : `{${labels}}`);
