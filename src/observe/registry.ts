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

/** Label values come in the order of the label names. `of` finds the number once, for those who count often. */
export type Counter = {
  add(amount: number, ...values: readonly string[]): void;
  of(...values: readonly string[]): { add(amount: number): void };
};
export type Histogram = {
  observe(value: number, ...values: readonly string[]): void;
  of(...values: readonly string[]): { observe(value: number): void };
};

export const contentType = "text/plain; version=0.0.4; charset=utf-8";

export function createRegistry(): Registry {
  const families: Family[] = [];
  const add = <F extends Family>(family: F): F => {
    families.push(family);
    return family;
  };
  return {
    counter: (name, help, labels = []) => add(amounts({ name, help, type: "counter", labels })),
    gauge: (name, help) => add(amounts({ name, help, type: "gauge", labels: [] })),
    histogram: (name, help, labels, buckets) =>
      add(distribution({ name, help, type: "histogram", labels }, buckets)),
    text: () => families.map((family) => family.text()).join(""),
  };
}

/** All numbers of one name. */
type Family = { text(): string };
type About = {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly labels: readonly string[];
};

const written = ({ name, help, type }: About, lines: readonly string[]): string =>
  [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ""].join("\n");

/** Finds what is counted under the values of the labels, made when it is first asked for. */
function seriesOf<Series>(make: (values: readonly string[]) => Series) {
  const known = new Map<string, Series>();
  const of = (values: readonly string[]): Series => {
    const key = values.join("\n");
    let series = known.get(key);
    if (series === undefined) known.set(key, (series = make(values)));
    return series;
  };
  return { of, all: () => [...known.values()] };
}

function amounts(about: About): Counter & Family {
  const { name, labels } = about;
  const series = seriesOf((values) => ({
    labels: labelText(labels, values),
    amount: 0,
    add(more: number): void {
      this.amount += more;
    },
  }));
  // Without labels there is one series, and it is there from the start.
  if (labels.length === 0) series.of([]);
  return {
    add: (amount, ...values) => series.of(values).add(amount),
    of: (...values) => series.of(values),
    text: () =>
      written(
        about,
        series.all().map((one) => `${name}${braced(one.labels)} ${one.amount}`),
      ),
  };
}

function distribution(about: About, buckets: readonly number[]): Histogram & Family {
  const series = seriesOf((values) => ({
    labels: labelText(about.labels, values),
    counts: Array<number>(buckets.length + 1).fill(0),
    sum: 0,
    observe(value: number): void {
      let at = 0;
      while (at < buckets.length && value > (buckets[at] ?? 0)) at++;
      this.counts[at] = (this.counts[at] ?? 0) + 1;
      this.sum += value;
    },
  }));
  return {
    observe: (value, ...values) => series.of(values).observe(value),
    of: (...values) => series.of(values),
    text: () =>
      written(
        about,
        series
          .all()
          .flatMap(({ labels, counts, sum }) =>
            histogramLines(about.name, labels, buckets, counts, sum),
          ),
      ),
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
