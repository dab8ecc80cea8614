import type { StopReason, Usage } from "../turn/event.ts";
import type { FailureReason } from "../turn/failure-reason.ts";
import type { FaultCode } from "../turn/fault.ts";
import type { CallRules } from "../turn/rules.ts";
import type { Tenant } from "../turn/tenant.ts";
import type { DialectName } from "../turn/turn.ts";
import type { AgentName } from "./agent.ts";

/**
 * What the gateway reports. The core never logs: it reports, and the host
 * decides who hears it. Fields are flat and hold no content and no secrets;
 * with `telemetry.upstream_messages` they hold the messages of reasons too.
 */
export type Happening =
  | TurnBegun
  | TurnDone
  | RoundDone
  | StepReached
  | AttemptDone
  | CallDone
  | Fallback
  | Refusal
  | InternalError
  | Reload
  | WriteFailed
  | StoreNotice
  | ChildNotice
  | Blocked;

export type HappeningType = Happening["type"];

/** How a turn ended: `left` is a client that went away. */
export type Outcome = "completed" | "incomplete" | "failed" | "left";

/** Work on one request held the event loop longer than `server.block_budget_ms`. */
export type Blocked = {
  readonly type: "blocked";
  readonly work: "request" | "answer";
  readonly requestId: string;
  readonly ms: number;
};

/** A request has been read, and an upstream is about to be asked. */
export type TurnBegun = {
  readonly type: "begun";
  readonly requestId: string;
  readonly door: DialectName;
  /** The path that took the request. */
  readonly route: string;
  readonly model: string;
  /** `upstream/model` that is asked first. */
  readonly upstream: string;
  readonly stream: boolean;
} & TurnSource;

/** Where a turn comes from, and how large its request is. */
export type TurnSource = {
  readonly tenant: Tenant;
  /** The program that asks, by its `user-agent`; none: one that is not known. */
  readonly agent?: AgentName | undefined;
  /** Tells the requests of one run of an agent from others: a digest of the id that it sends. */
  readonly run?: string | undefined;
  /** Of the request's body, as it was sent where that is known. */
  readonly requestBytes: number;
  /** Of the tools that the client declares. */
  readonly toolBytes: number;
};

/** How far a turn has come: `headers` and `first` are the upstream's, `call` the latest that began. */
export type TurnStep = "read" | "planned" | "asked" | "headers" | "first" | "call" | "end";

/** A turn has come so far. Reported only to those who follow steps. */
export type StepReached = {
  readonly type: "step";
  readonly requestId: string;
  readonly step: TurnStep;
  /** From the turn's beginning. */
  readonly ms: number;
};

/** One request to an upstream. */
export type AttemptReport = {
  /** `upstream/model` */
  readonly upstream: string;
  /** Of its answer; none where none came, or where there are no statuses. */
  readonly status?: number | undefined;
  readonly fault?: FaultCode | undefined;
  /** Why it failed. */
  readonly reason?: FailureReason | undefined;
  /** How long it was waited before the next, where the same upstream was asked again. */
  readonly waitMs?: number | undefined;
  /** When it was sent, from the turn's beginning, and how long it took. */
  readonly atMs: number;
  readonly ms: number;
};

/** A request to an upstream is over. Reported only to those who follow steps. */
export type AttemptDone = AttemptReport & {
  readonly type: "attempt";
  readonly requestId: string;
  /** Which of the turn's, from 1. */
  readonly attempt: number;
};

/** What became of a call: `withheld` by a rule or the request, `repeated` of an earlier one, `cut` before its end. */
export type CallOutcome = "given" | "withheld" | "repeated" | "cut";

/** One call of a turn. */
export type CallDetail = {
  readonly choice: number;
  /** Which of the choice's calls that the client is given, from 0; -1 for others. */
  readonly call: number;
  /** As the client declared it, behind its namespace. */
  readonly name: string;
  readonly kind: string;
  /** When it began, from the turn's beginning, and how long it took. */
  readonly atMs: number;
  readonly ms: number;
  /** As far as they were read. */
  readonly argumentChars: number;
  readonly outcome: CallOutcome;
};

/** A call is over. Reported only to those who follow steps. */
export type CallDone = CallDetail & { readonly type: "call"; readonly requestId: string };

export type TurnDone = TurnSource & {
  readonly type: "turn";
  /** When it was over, in milliseconds since the epoch. */
  readonly at: number;
  readonly requestId: string;
  readonly door: DialectName;
  /** The path that took the request. */
  readonly route: string;
  readonly model: string;
  /** `upstream/model`, as asked for there. */
  readonly upstream: string;
  /** Whose service that is, where its profile says; else the upstream's name. */
  readonly provider: string;
  readonly stream: boolean;
  /** Whether the upstream's own frames were forwarded. */
  readonly straight: boolean;
  /** How many times an upstream was asked. */
  readonly rounds: number;
  readonly outcome: Outcome;
  readonly status: number;
  readonly fault?: FaultCode | undefined;
  /** How many answers were asked for. */
  readonly choices: number;
  /** What became of its calls. */
  readonly calls: CallFigures;
  /** The calls given, choice by choice. */
  readonly callsByChoice: readonly number[];
  /** What the gateway asked of them. */
  readonly rules: CallRules;
  /** How each choice ended, in their order. */
  readonly stops: readonly StopReason[];
  /** Of all upstream calls, as they were counted or else estimated; none if no upstream answered. */
  readonly usage?: Usage | undefined;
  /** The answer's id, and the model that the upstream says gave it. */
  readonly answerId?: string | undefined;
  readonly answerModel?: string | undefined;
  readonly plan: string;
  /** What folding its tools came to; none where they were sent as they are. */
  readonly disclosure?: DisclosureFigures | undefined;
  readonly decisions: number;
  /** Of the tools as they were sent: less than declared where they were folded. */
  readonly toolBytesSent: number;
  /** The requests to upstreams, retries among them; the first 32. */
  readonly attempts: readonly AttemptReport[];
  /** The calls one by one; the first 64. */
  readonly callDetails: readonly CallDetail[];
  readonly ms: number;
  /** When it came so far, from its beginning; none where it did not. */
  readonly plannedMs?: number | undefined;
  readonly askedMs?: number | undefined;
  readonly headersMs?: number | undefined;
  readonly firstEventMs?: number | undefined;
  readonly firstCallMs?: number | undefined;
};

/** One upstream call of a turn is over. */
export type RoundDone = {
  readonly type: "round";
  readonly requestId: string;
  /** Which of the turn's, from 1. */
  readonly round: number;
  readonly upstream: string;
  readonly provider: string;
  readonly fault?: FaultCode | undefined;
  readonly usage?: Usage | undefined;
  readonly ms: number;
};

/**
 * The calls of a turn, counted once: every header, comment, log line and metric
 * that speaks of them is made from this.
 */
export type CallFigures = {
  /** Complete calls given to the client, over all choices. */
  readonly given: number;
  /** Calls seen and not given: for a cap or a stop, or because the request did not allow them. */
  readonly withheld: number;
  /** Calls left out since they repeat an earlier one. */
  readonly repeated: number;
  /** True if a cap, a stop or the limit to one call withheld any, or ended a turn that might have made more. */
  readonly truncated: boolean;
  /** True if the upstream was interrupted because its calls had been made. */
  readonly stopped: boolean;
};

export const noCalls: CallFigures = {
  given: 0,
  withheld: 0,
  repeated: 0,
  truncated: false,
  stopped: false,
};

/** The figures of disclosure in a turn that folds no tools. */
export const noDisclosure = {
  /** How the tools were folded; empty where they were not. */
  strategy: "",
  /** Folded tools, and the sections they are in. */
  tools: 0,
  sections: 0,
  /** Bytes of tools in all requests of the turn: each tool declared, and as they were sent. */
  eagerBytes: 0,
  sentBytes: 0,
  /** Sections that the model opened. */
  openings: 0,
  /** Readings that opened sections, and the tools that they added to the conversation. */
  dynamic: 0,
  injected: 0,
  /** Rounds that the client saw nothing of. */
  hiddenRounds: 0,
  /** Readings and calls of what is not there, and arguments that did not fit. */
  misses: 0,
};

/** What disclosure came to in one turn. */
export type DisclosureFigures = Readonly<typeof noDisclosure>;

/** An upstream failed before its first event and the next of the chain is tried. */
export type Fallback = {
  readonly type: "fallback";
  readonly requestId: string;
  readonly from: string;
  readonly to: string;
  readonly fault: FaultCode;
  readonly reason?: FailureReason | undefined;
};

/** A request that never became a turn. */
export type Refusal = {
  readonly type: "refusal";
  /** In milliseconds since the epoch. */
  readonly at: number;
  readonly requestId: string;
  readonly route: string;
  readonly status: number;
  readonly fault: FaultCode;
  readonly param?: string | undefined;
};

/**
 * A fault of ours. Where it was raised, and not what it said: an unknown error
 * may quote what it choked on.
 */
export type InternalError = {
  readonly type: "trouble";
  readonly requestId?: string | undefined;
  readonly error: string;
  readonly frames: readonly string[];
};

export type Reload = {
  readonly type: "reload";
  readonly ok: boolean;
  readonly problems: readonly string[];
};

/** A file that the configuration names cannot be written. Requests are served all the same. */
export type WriteFailed = {
  readonly type: "unwritable";
  /** Where the configuration names it. */
  readonly setting: string;
  readonly path: string;
  /** What is wrong, and the remedy. */
  readonly problem: string;
};

/**
 * The store's database cannot be used (`unavailable`) or can again
 * (`available`), or what a turn left behind was not stored (`lost`) or not
 * before its client had the answer (`late`), or a sweep keeps expired rows because
 * the clock may have been set (`waits`).
 */
export type StoreNotice = {
  readonly type: "store";
  readonly event: "unavailable" | "available" | "lost" | "late" | "waits";
  readonly requestId?: string | undefined;
  readonly fault?: FaultCode | undefined;
  /** What is wrong, and the remedy. */
  readonly problem?: string | undefined;
};

/**
 * Something about a child process that serves an upstream: that it started or
 * is gone, that it wrote to its standard error (how much, never what), how much
 * of its allowance is used, or that it said something that belongs to nobody.
 */
export type ChildNotice = {
  readonly type: "child";
  readonly upstream: string;
  readonly event: string;
  readonly pid?: number | undefined;
  readonly reason?: string | undefined;
  readonly bytes?: number | undefined;
  /** Of what its account allows, how much is used: that of the allowance that is used most. */
  readonly percent?: number | undefined;
};

/** Receives happenings. `types`: those that it needs; without them it is told of all. */
export type Report = ((happening: Happening) => void) & {
  readonly types?: readonly HappeningType[] | undefined;
};
