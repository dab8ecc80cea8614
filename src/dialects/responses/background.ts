/** Answers of the Responses API that are made while nobody waits. */

import { isFields, jsonOf } from "../../json/json.ts";
import type { Fields } from "../../turn/turn.ts";
import type { BackgroundForm } from "../dialect.ts";
import { faultBody } from "../errors/fault-body.ts";
import { ResponseObject } from "./resource.ts";
import { frameText } from "./write-events.ts";

const ended = new Set(["completed", "incomplete", "failed", "cancelled"]);

export const background: BackgroundForm = {
  begun(turn, context) {
    const response = new ResponseObject(turn, {}, context);
    return {
      shown: response.shown({ status: "queued" }),
      kept: response.kept({ status: "in_progress" }),
    };
  },
  stateOf(json) {
    const { status, background: isBackground } = fieldsOf(json);
    return { isBackground: isBackground === true, isOver: ended.has(String(status)) };
  },
  failed(json, fault) {
    const { code, message } = faultBody(fault).error;
    return JSON.stringify({ ...fieldsOf(json), status: "failed", error: { code, message } });
  },
  lastFrame(shown, sequence) {
    const { status } = fieldsOf(shown);
    const name = status === "completed" || status === "incomplete" ? status : "failed";
    return frameText(`response.${name}`, `"response":${shown}`, sequence);
  },
  sequenceIn(frame) {
    const [, number] = SEQUENCE.exec(frame) ?? [];
    return number === undefined ? undefined : Number(number);
  },
  isLast: (frame) => LAST.test(frame),
};

/** It is the last field of every frame that is written here. */
const SEQUENCE = /,"sequence_number":(\d+)\}\s*$/;
const LAST = /^event: response\.(?:completed|incomplete|failed)\n/;

function fieldsOf(json: string): Fields {
  const value = jsonOf(json);
  return isFields(value) ? value : {};
}
