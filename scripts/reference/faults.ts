import { faults } from "../../src/turn/fault-table.ts";
import { code, table } from "./table.ts";

/** `docs/reference/faults.md`, from the one table of faults. */
export function faultsPage(): string {
  const sorted = Object.entries(faults).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const rows = sorted.map(([name, { status, type, retry, what }]) => [
    code(name),
    `${status}`,
    code(type),
    retry ? "yes" : "no",
    what,
  ]);
  return `# Faults

After this page you can look up the code of an error and what to do about it. \`npm run docs\` makes this page from \`src/turn/fault-table.ts\`.

Errors have the form of the client's dialect. Chat and Responses clients receive \`{"error": {"message", "type", "param", "code"}}\`; Messages clients receive \`{"type": "error", "error": {"type", "message"}, "request_id"}\` with the code in \`error.details.error_code\`. The message names the cause and the remedy, \`param\` the field of the request. The code is one of these, or the upstream's own if it sent one. In a stream that has begun, the same error is the terminal event.

${table(["code", "status", "type", "retry may help", "meaning"], rows)}
`;
}
