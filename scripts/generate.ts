import { faults } from "../src/turn/fault.ts";

/** `docs/faults.md`, from the one table of faults. */
export function faultsPage(): string {
  const rows = Object.entries(faults).map(
    ([code, { status, type, retry, what }]) =>
      `| \`${code}\` | ${status} | \`${type}\` | ${retry ? "yes" : "no"} | ${what} |`,
  );
  return `# Faults

Every error body has the shape of the OpenAI API: \`{"error": {"message", "type", "param", "code"}}\`. The code is one of these, or the upstream's own where it sent one. In a stream that has begun, the same error is the terminal event instead. Made from \`src/turn/fault.ts\` by \`npm run docs\`.

| code | status | type | may help to retry | what it means |
| --- | --- | --- | --- | --- |
${rows.join("\n")}
`;
}

/** The pages made from data, by path from the root. */
export const pages: Readonly<Record<string, () => string>> = {
  "docs/faults.md": faultsPage,
};
