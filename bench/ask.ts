import type { Job } from "./load.ts";
import { requestBody, requestPath, type Scenario } from "./scenarios.ts";
import type { Subject } from "./subjects/subject.ts";

export function headersOf(subject: Subject): Record<string, string> {
  return { "content-type": "application/json", authorization: "Bearer x", ...subject.headers };
}

/** A scenario for a subject as the bytes of one HTTP request. */
export function askOf(subject: Subject, scenario: Scenario, least = 0): Job["asks"][number] {
  const body = requestBody(scenario, subject.door, subject.prefix);
  const headers = {
    host: `127.0.0.1:${subject.port}`,
    ...headersOf(subject),
    "content-length": String(Buffer.byteLength(body)),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const path = requestPath(scenario, subject.door, subject.prefix);
  const text = `POST ${path} HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
  return { text, least: least || leastBytes(scenario) };
}

/** No honest answer is shorter than what the model said. */
function leastBytes(scenario: Scenario): number {
  return scenario.reply.fragments.join("").length;
}
