import type { StopReason, Usage } from "../turn/event.ts";
import type { FailureReason } from "../turn/failure-reason.ts";
import type { FaultCode } from "../turn/fault.ts";
import type { CallRules } from "../turn/rules.ts";
import type { Tenant } from "../turn/tenant.ts";
import type { DialectName } from "../turn/turn.ts";
import type { AgentName } from "./agent.ts";

/**
 * A report of the gateway. The core never logs: it reports, and the host passes reports on.
 * Fields are flat and hold no content and no secrets; with `telemetry.upstream_messages` they
 * hold the messages of reasons too.
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

/** The end of a turn; `left`: its client closed the connection. */
export type Outcome = "completed" | "incomplete" | "failed" | "left";

/** Work on one request held the event loop longer than `server.block_budget_ms`. */
export type Blocked = {
  readonly type: "blocked";
  readonly work: "request" | "answer";
  readonly requestId: string;
  readonly ms: number;
};

/** The client of a turn, and the size of its request. */
export type TurnSource = {
  readonly tenant: Tenant;
  /** The client's program by its `user-agent`; left out if it is unknown. */
  readonly agent?: AgentName | undefined;
  /** A digest of the id that an agent sends with all requests of one run. */
  readonly run?: string | undefined;
  /** Of the body, before it was unpacked if that is known. */
  readonly requestBytes: number;
  /** Of the tools that the client declares. */
  readonly toolBytes: number;
};

type TurnHead = TurnSource & {
  readonly requestId: string;
  readonly door: DialectName;
  /** The pattern of the request's path. */
  readonly route: string;
  readonly model: string;
  /** `upstream/model`: the first of the chain while the turn begins, the last one asked at its end. */
  readonly upstream: string;
  readonly stream: boolean;
};

/** A request has been read, and the first upstream is about to be asked. */
export type TurnBegun = TurnHead & { readonly type: "begun" };

/** The progress of a turn: `headers` and `first` are the upstream's, `call` the start of the latest call. */
export type TurnStep = "read" | "planned" | "asked" | "headers" | "first" | "call" | "end";

/** Progress of a turn. Reported only if a listener follows steps. */
export type StepReached = {
  readonly type: "step";
  readonly requestId: string;
  readonly step: TurnStep;
  /** From the beginning of the turn. */
  readonly ms: number;
};

/** One request to an upstream. */
export type AttemptReport = {
  /** `upstream/model` */
  readonly upstream: string;
  /** Left out without an answer, or if the protocol of the upstream has no status. */
  readonly status?: number | undefined;
  readonly fault?: FaultCode | undefined;
  readonly reason?: FailureReason | undefined;
  /** The wait before the same upstream was asked again. */
  readonly waitMs?: number | undefined;
  /** The time of sending, from the beginning of the turn. */
  readonly atMs: number;
  readonly ms: number;
};

/** The end of a request to an upstream. Reported only if a listener follows steps. */
export type AttemptDone = AttemptReport & {
  readonly type: "attempt";
  readonly requestId: string;
  /** Its number in the turn, from 1. */
  readonly attempt: number;
};

/** The fate of a call: `withheld` by a rule or the request, `repeated` of an earlier one, `cut` before its end. */
export type CallOutcome = "given" | "withheld" | "repeated" | "cut";

export type CallDetail = {
  readonly choice: number;
  /** Its number among the choice's calls that the client receives, from 0; -1 for other calls. */
  readonly call: number;
  /** As the client declared it, after its namespace. */
  readonly name: string;
  readonly kind: string;
  /** Its start, from the beginning of the turn. */
  readonly atMs: number;
  readonly ms: number;
  /** Characters that were read. */
  readonly argumentChars: number;
  readonly outcome: CallOutcome;
};

/** The end of a call. Reported only if a listener follows steps. */
export type CallDone = CallDetail & { readonly type: "call"; readonly requestId: string };

export type TurnDone = TurnHead & {
  readonly type: "turn";
  /** The time of its end, in milliseconds since the epoch. */
  readonly at: number;
  /** The service of the upstream by its profile; else the upstream's name. */
  readonly provider: string;
  /** True if the upstream's frames were forwarded. */
  readonly straight: boolean;
  /** The number of upstream calls. */
  readonly rounds: number;
  readonly outcome: Outcome;
  readonly status: number;
  readonly fault?: FaultCode | undefined;
  /** The number of answers that the request asks for. */
  readonly choices: number;
  readonly calls: CallFigures;
  /** The calls given, choice by choice. */
  readonly callsByChoice: readonly number[];
  /** The gateway's rules for the calls. */
  readonly rules: CallRules;
  /** The end of each choice, in their order. */
  readonly stops: readonly StopReason[];
  /** Of all upstream calls, as counted by the upstream or else estimated; left out if no upstream answered. */
  readonly usage?: Usage | undefined;
  readonly answerId?: string | undefined;
  /** The model that the upstream names in its answer. */
  readonly answerModel?: string | undefined;
  readonly plan: string;
  /** Left out if the tools were not folded. */
  readonly disclosure?: DisclosureFigures | undefined;
  readonly decisions: number;
  /** Of the tools as they were sent: fewer than declared if they were folded. */
  readonly toolBytesSent: number;
  /** The first 32 requests to upstreams, with retries. */
  readonly attempts: readonly AttemptReport[];
  /** The first 64 calls. */
  readonly callDetails: readonly CallDetail[];
  readonly ms: number;
  /** Times of its steps, from its beginning; left out if it did not reach them. */
  readonly plannedMs?: number | undefined;
  readonly askedMs?: number | undefined;
  readonly headersMs?: number | undefined;
  readonly firstEventMs?: number | undefined;
  readonly firstCallMs?: number | undefined;
};

/** The end of one upstream call of a turn. */
export type RoundDone = Pick<TurnDone, "requestId" | "upstream" | "provider" | "ms"> &
  Pick<TurnDone, "fault" | "usage"> & {
    readonly type: "round";
    /** Its number in the turn, from 1. */
    readonly round: number;
  };

/** Counts of a turn's calls: the one source for headers, comment, log line and metrics. */
export type CallFigures = {
  /** Complete calls that the client received, over all choices. */
  readonly given: number;
  /** Calls left out for a cap or a stop, or because the request does not allow them. */
  readonly withheld: number;
  /** Calls left out because they repeat an earlier one. */
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

/** Disclosure in a turn that folds no tools. */
export const noDisclosure = {
  /** The way of folding; empty without folding. */
  strategy: "",
  /** Folded tools, and their sections. */
  tools: 0,
  sections: 0,
  /** Bytes of tools in all requests of the turn: each tool declared, and as they were sent. */
  eagerBytes: 0,
  sentBytes: 0,
  openings: 0,
  /** Readings that opened sections, and the tools that they added to the conversation. */
  dynamic: 0,
  injected: 0,
  /** Rounds that the client does not see. */
  hiddenRounds: 0,
  /** Readings and calls of names that do not exist, and arguments that did not fit. */
  misses: 0,
};

export type DisclosureFigures = Readonly<typeof noDisclosure>;

/** An upstream failed before its first event, and the next of the chain is tried. */
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

/** A bug of the gateway: the place in the code and not the message, because an unknown error may quote its input. */
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

/** A file that the configuration names cannot be written. Requests are still served. */
export type WriteFailed = {
  readonly type: "unwritable";
  /** The setting that names the file. */
  readonly setting: string;
  readonly path: string;
  /** The cause and the remedy. */
  readonly problem: string;
};

/**
 * The store's database cannot be used (`unavailable`) or can again (`available`), a turn was not
 * stored (`lost`) or not before its client had the answer (`late`), or a sweep keeps expired rows
 * because the clock may have been set (`waits`).
 */
export type StoreNotice = {
  readonly type: "store";
  readonly event: "unavailable" | "available" | "lost" | "late" | "waits";
  readonly requestId?: string | undefined;
  readonly fault?: FaultCode | undefined;
  /** The cause and the remedy. */
  readonly problem?: string | undefined;
};

/**
 * An event of a child process that serves an upstream: its start or end, output on its standard
 * error (the size and not the text), its used allowance, or a message that fits no thread.
 */
export type ChildNotice = {
  readonly type: "child";
  readonly upstream: string;
  readonly event: string;
  readonly pid?: number | undefined;
  readonly reason?: string | undefined;
  readonly bytes?: number | undefined;
  /** The used part of its account's allowances: that of the fullest one. */
  readonly percent?: number | undefined;
};

/** Receives happenings. `types`: those that it receives; left out: all. */
export type Report = ((happening: Happening) => void) & {
  readonly types?: readonly HappeningType[] | undefined;
};
