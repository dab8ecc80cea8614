import type { Emit } from "../../stream/stage.ts";
import type { Frame } from "../../turn/event.ts";

export type FrameLane = {
  /** `hold`: what the frame says may still have to be said in other words. */
  each(frame: Frame, hold: boolean, emit: Emit<Frame>): void;
};

/**
 * Says frames for the straight lane. What has been forwarded cannot be taken
 * back, so a frame whose meaning the next one may change (a role and nothing
 * else, the head of a call, the end) is held until then; and if one of them
 * turns out to need repair, all of them do.
 */
export function frameLane(wanted: boolean): FrameLane {
  let held: Frame[] = [];
  let bent = false;

  const release = (emit: Emit<Frame>): void => {
    for (const frame of held) emit(bent ? { ...frame, forwardable: false } : frame);
    held = [];
  };
  return {
    each(frame, hold, emit) {
      if (!wanted) return;
      bent ||= !frame.forwardable;
      if (hold && !bent) {
        held.push(frame);
        return;
      }
      if (held.length > 0) release(emit);
      emit(frame);
    },
  };
}
