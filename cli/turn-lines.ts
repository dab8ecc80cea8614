/** Turns as people read them: one line each, and one turn in full. */

import type {
  FeedBatch,
  DoneRow,
  TurnRow,
  RunningRow,
  TurnView,
} from "../src/observe/console/wire.ts";
import { printable, reasonWords } from "../src/terminal.ts";
import { aligned } from "./output.ts";

type NoticeRow = FeedBatch["notices"][number];

export const clockTime = (at: number): string => new Date(at).toTimeString().slice(0, 8);

export const seconds = (ms: number | undefined): string =>
  ms === undefined ? "-" : ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;

/** 950, 9.3k, 1.2M */
export function short(count: number | undefined): string {
  if (count === undefined) return "-";
  if (count < 1000) return String(count);
  return count < 1_000_000 ? `${(count / 1000).toFixed(1)}k` : `${(count / 1_000_000).toFixed(1)}M`;
}

/** A name or a message of others: printable, on one line, and no longer than a column. */
export const plain = (text: string, most = 60): string => {
  const shown = printable(text.replaceAll(/\s+/g, " "));
  return shown.length > most ? `${shown.slice(0, most - 1)}…` : shown;
};

const signs: Readonly<Record<string, string>> = {
  native: "✓",
  degraded: "~",
  deferred: "⏸",
  ignored: "–",
  refused: "⊘",
};

/** `native=3 degraded=1` as `✓3 ~1`; zeros are left out. */
export const planSigns = (plan: string): string =>
  plan
    .split(" ")
    .flatMap((part) => {
      const [verdict = "", count = "0"] = part.split("=");
      return count === "0" || verdict === "" ? [] : `${signs[verdict] ?? verdict}${count}`;
    })
    .join(" ");

export const cost = ({ cost: amount }: Pick<DoneRow, "cost">): string =>
  amount === undefined ? "-" : `$${amount.toFixed(4)}`;

/** The fault of a turn with the upstream's own words for it. */
export function turnFaultText({ fault, attempts }: DoneRow): string {
  const words = fault === undefined ? "" : reasonWords(attempts.at(-1)?.reason);
  return `${fault ?? ""}${words === "" ? "" : ` (${words})`}`;
}

/** An upstream's sentence has 300 characters at most, and the gateway adds its own sentence. */
const LONGEST_REASON = 600;

/** The reasons of failed requests to upstreams, a line for each. */
export function reasonLines(row: TurnRow): string[] {
  if (row.type === "refusal") return [];
  const { attempts } = row;
  return attempts.flatMap(({ reason: { message } = {} }, at) =>
    message === undefined
      ? []
      : `  ${attempts.length > 1 ? `attempt ${at + 1}: ` : ""}${plain(message, LONGEST_REASON)}`,
  );
}

export function rowLine(row: TurnRow): string {
  if (row.type === "refusal")
    return `${clockTime(row.at)} refused  ${row.status} ${row.fault} ${plain(row.route)} ${row.requestId}`;
  const { usage, attempts } = row;
  const retries = attempts.length > 1 ? ` ${attempts.length} attempts` : "";
  return [
    clockTime(row.at),
    (row.fault === undefined ? row.outcome : "failed").padEnd(9),
    row.fault === undefined ? "" : `${row.status} ${turnFaultText(row)}`,
    `${row.agent ?? "-"} ${plain(row.model)} -> ${plain(row.upstream)}`,
    planSigns(row.plan),
    `calls ${row.calls.given}`,
    `tokens ${short(usage?.input)}/${short(usage?.output)}`,
    row.cost === undefined ? "" : cost(row),
    `first ${seconds(row.firstEventMs)} total ${seconds(row.ms)}${retries}`,
    row.requestId,
  ]
    .filter((part) => part !== "")
    .join(" ");
}

export const noticeLine = ({ at, type, ...fields }: NoticeRow): string =>
  `${clockTime(at)} ${type.padEnd(9)} ${plain(JSON.stringify(fields), 300)}`;

export function turnLines({ turn, running, plan }: TurnView): string[] {
  if (turn === undefined) return running === undefined ? [] : [runningLine(running)];
  if (turn.type === "refusal") return [rowLine(turn)];
  return [
    rowLine(turn),
    ...reasonLines(turn),
    ...sizeLines(turn),
    ...stepLines(turn),
    ...callLines(turn),
    ...toolLines(plan),
  ];
}

const runningLine = (row: RunningRow): string =>
  `${clockTime(row.startedAt)} running   ${row.agent ?? "-"} ${plain(row.model)} -> ${plain(row.upstream)} ${planSigns(row.plan)} calls ${row.calls} at ${row.step} after ${seconds(row.ms)} ${row.requestId}`;

function sizeLines(turn: DoneRow): string[] {
  const { usage, toolBytes, toolBytesSent } = turn;
  const saved =
    toolBytes > toolBytesSent
      ? ` (${Math.round(100 * (1 - toolBytesSent / toolBytes))} % saved)`
      : "";
  const cached = usage?.cached ?? 0;
  const written = usage?.cacheWrite ?? 0;
  const parts =
    usage === undefined
      ? ""
      : ` = ${usage.input - cached - written} new + ${cached} cached${written > 0 ? ` + ${written} written to a cache` : ""}`;
  return [
    `  request ${short(turn.requestBytes)} bytes, tools ${short(toolBytes)} declared, ${short(toolBytesSent)} sent${saved}`,
    `  tokens in ${usage?.input ?? "-"}${parts}, out ${usage?.output ?? "-"}${usage?.estimated === true ? " (estimated)" : ""}, cost ${cost(turn)}${turn.priceDate === undefined ? "" : ` (price of ${turn.priceDate})`}`,
  ];
}

function stepLines(turn: DoneRow): string[] {
  const asked = turn.attempts.map((one, at) => [
    `attempt ${at + 1}`,
    seconds(one.atMs),
    `${plain(one.upstream)} ${one.status ?? ""} ${one.fault ?? ""}`.trimEnd(),
    one.waitMs === undefined
      ? `took ${seconds(one.ms)}`
      : `took ${seconds(one.ms)}, waited ${seconds(one.waitMs)}`,
  ]);
  return aligned([
    ["planned", seconds(turn.plannedMs)],
    ...asked,
    ["headers", seconds(turn.headersMs)],
    ["first event", seconds(turn.firstEventMs)],
    ["end", seconds(turn.ms), turn.outcome],
  ]);
}

const callLines = (turn: DoneRow): string[] =>
  aligned(
    turn.callDetails.map((one, at) => [
      `call ${at + 1}`,
      seconds(one.atMs),
      plain(one.name),
      one.kind,
      `${one.argumentChars} characters`,
      one.outcome,
    ]),
  );

function toolLines(plan: TurnView["plan"]): string[] {
  return aligned(
    (plan?.tools ?? []).map(({ name, verdict, reason }) => [
      signs[verdict] ?? "?",
      plain(name),
      verdict,
      plain(reason, 200),
    ]),
  );
}
