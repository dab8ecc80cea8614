import { buckets, metrics } from "../../src/observe/metrics.ts";
import { code, table } from "./table.ts";

/** `docs/reference/metrics.md`, from the metrics that a gateway serves. */
export function metricsPage(): string {
  const rows = Object.entries(metrics).map(([name, content]) => {
    const [labels = "", help = ""] = content.split(": ");
    if (help === "") throw new Error(`The metric ${name} has no help text.`);
    const type = name in buckets ? "histogram" : name.endsWith("_total") ? "counter" : "gauge";
    return [code(name), type, labels.split(" ").filter(Boolean).map(code).join(", "), help];
  });
  return `# Metrics

After this page you know every metric of \`GET /metrics\`. \`npm run docs\` makes this page from the metrics themselves.

The format is Prometheus text; no key is needed. Labels are names from the configuration and words of closed sets: \`door\` is the client's dialect, \`upstream\` its name in the configuration, \`outcome\` is \`completed\`, \`incomplete\` (token limit or filter), \`failed\` or \`left\` (the client left), \`direction\` is \`input\` or \`output\`, \`model\` is the name under which a price is configured. A client's words never become a label. [Watching a gateway](../guides/watching.md) has alerts and a dashboard.

${table(["metric", "type", "labels", "meaning"], rows)}
`;
}
