import type { Emit } from "../../stream/stage.ts";
import type { Frame } from "../../turn/event.ts";

export type FrameLane = {
  /** `hold`: a later frame may show that this one has to be rewritten. */
  each(frame: Frame, hold: boolean, emit: Emit<Frame>): void;
};

/**
 * Emits frames for the straight lane. What has been forwarded cannot be taken
 * back, so a frame whose meaning the next one may change (a role and nothing
 * else, the head of a call, the end) is held until then; and if one of them
 * turns out to need repair, all of them do.
 */
export function frameLane(wanted: boolean): FrameLane {
  let held: Frame[] = [];
  let repaired = false;

  const release = (emit: Emit<Frame>): void => {
    for (const frame of held) emit(repaired ? { ...frame, forwardable: false } : frame);
    held = [];
  };
  return {
    each(frame, hold, emit) {
      if (!wanted) return;
      repaired ||= !frame.forwardable;
      if (hold && !repaired) {
        held.push(frame);
        return;
      }
      if (held.length > 0) release(emit);
      emit(frame);
    },
  };
}
