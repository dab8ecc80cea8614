import { folding } from "../../stream/fold.ts";
import { sseDone } from "../../stream/sse.ts";
import type { EventWriter } from "../../stream/straight.ts";
import type { TurnEnd, TurnEvent, TurnStart } from "../../turn/event.ts";
import type { Fault } from "../../turn/fault.ts";
import type { ClientName } from "../../turn/names.ts";
import type { Turn } from "../../turn/turn.ts";
import type { WriteContext } from "../dialect.ts";
import { faultBody } from "../errors/fault-body.ts";
import { lossReporter, losePause } from "../shared/losses.ts";
import { numberedFrames, outputItems, type NumberedFrames } from "./numbered-frames.ts";
import {
  failedStatus,
  loseExtra,
  loseSignature,
  loseStart,
  resource,
  statusOf,
  type Progress,
  type ResponseWriter,
} from "./resource.ts";
import { blockWriter } from "./write-blocks.ts";
import { callsWriter } from "./write-calls.ts";
import { hostedWriter, loseItem } from "./write-hosted.ts";

/**
 * Writes a stream for the strictest reader: every item announced before its
 * deltas and closed before the end, but for calls that were cut off and must
 * not be run; one terminal event, and in it exactly the items that were closed.
 * The API has one choice; of several the first is shown.
 */
export function writeEvents(turn: Turn, context: WriteContext): EventWriter<ClientName> {
  const line = numberedFrames();
  const items = outputItems(line, context);
  const folded = folding<ClientName>();
  const frame = frameWriter(line, context, (start) => resource(turn, start, context));
  const lose = lossReporter("responses", context.report);
  let shown: number | undefined;
  const blocks = blockWriter(line, items, () => folded.items(shown ?? 0).at(-1));
  const calls = callsWriter(line, items);
  const hosted = hostedWriter(line, items);

  const finish = (progress: Omit<Progress, "output" | "usage">): void => {
    hosted.close();
    frame.end({ ...progress, output: items.closed(), usage: folded.answer().usage });
  };
  const write = (event: TurnEvent<ClientName>): void => {
    const closed = folded.each(event);
    switch (event.type) {
      case "turn-start":
        loseStart(event, lose);
        return frame.start(event);
      case "turn-end":
        losePause(event, lose);
        return finish(endOf(event, context));
      case "turn-fail":
        return finish({ status: failedStatus(event.fault), fault: event.fault });
      case "call-start":
      case "call-delta":
      case "call-end":
        return calls.each(event, closed);
      case "item-start":
      case "item-note":
      case "item-end":
        return event.dialect === "responses" ? hosted.each(event) : loseItem(event, lose);
      case "vendor-extra":
        return event.of === "reasoning" ? undefined : loseExtra(event.extra, event.choice, lose);
      case "usage":
      case "frame":
        return;
      default:
        if (closed?.type === "reasoning") loseSignature(closed, lose);
        blocks.each(event);
    }
  };

  return {
    each(event, emit) {
      // Some number their only choice otherwise than from 0.
      if ("choice" in event && event.choice !== (shown ??= event.choice)) return;
      line.to(emit);
      write(event);
    },
    end(emit) {
      if (frame.isOver()) emit((context.closingComment?.() ?? "") + sseDone);
    },
    resumeAt: (sequence) => line.resumeAt(sequence),
  };
}

function endOf({ stop }: TurnEnd, { now }: Pick<WriteContext, "now">) {
  const status = statusOf(stop);
  return { status, stop, completedAt: status === "completed" ? now() : undefined };
}

/** The first and the last events: those about the response as a whole. */
function frameWriter(
  line: NumberedFrames,
  { record }: Pick<WriteContext, "record">,
  describe: (start: TurnStart) => ResponseWriter,
) {
  let response: ResponseWriter | undefined;
  let isOver = false;
  const start = (event: TurnStart): void => {
    response = describe(event);
    const fields = `"response":${response.shown({ status: "in_progress", output: [] })}`;
    line.write("response.created", fields);
    line.write("response.in_progress", fields);
  };
  return {
    start,
    end(progress: Progress): void {
      // A turn may fail before its upstream sends anything.
      if (response === undefined) start({ type: "turn-start" });
      if (progress.fault !== undefined) line.write("error", errorFields(progress.fault));
      const name = progress.status === "cancelled" ? "failed" : progress.status;
      line.write(`response.${name}`, `"response":${response?.shown(progress) ?? "null"}`);
      isOver = true;
      if (record === undefined || response === undefined) return;
      const { json, shared } = response.kept(progress);
      record(json, shared);
    },
    isOver: () => isOver,
  };
}

/** Both as the API has it, the fields side by side, and as the open schema does, in an object. */
function errorFields(fault: Fault): string {
  const { error } = faultBody(fault);
  const { code, message, param } = error;
  return JSON.stringify({ code, message, param, error }).slice(1, -1);
}
