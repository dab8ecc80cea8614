import { describe, expect, it } from "vitest";
import { chain, earliestDue, runStage, StageLine, type Stage } from "./stage.ts";

const double: Stage<string, string> = {
  each(event, emit) {
    emit(event);
    emit(event);
  },
  end: (emit) => emit("0"),
};
const shout: Stage<string, string> = {
  each: (event, emit) => emit(`${event}!`),
  end: (emit) => emit("end"),
};
/** Waits for a moment, and says when it was woken. */
const waiting = (moment: number): Stage<string, string> => {
  let due: number | undefined = moment;
  return {
    each: (event, emit) => emit(event),
    due: () => due,
    lapse(now, emit) {
      due = undefined;
      emit(`${moment} woken at ${now}`);
    },
  };
};
const lapsed = (stage: Stage<string, string>, moment: number): string[] => {
  const said: string[] = [];
  stage.lapse?.(moment, (event) => void said.push(event));
  return said;
};

describe("chain", () => {
  it("hands what one stage says to the next, to the last word", () => {
    const stage = chain([double, shout]);
    expect(runStage(stage, ["1", "2"])).toEqual(["1!", "1!", "2!", "2!", "0!", "end"]);
  });

  it("is the same however it is grouped", () => {
    const left = chain([chain([double, double]), shout]);
    const right = chain([double, chain([double, shout])]);
    expect(runStage(left, ["7"])).toEqual(runStage(right, ["7"]));
  });

  it("is due when the first of its stages is", () => {
    expect(chain([waiting(300), waiting(100)]).due?.()).toBe(100);
    expect(chain([double, shout]).due?.()).toBeUndefined();
  });

  it("wakes only the stage whose moment has come", () => {
    const stage = chain([waiting(300), waiting(100)]);
    expect(lapsed(stage, 100)).toEqual(["100 woken at 100"]);
    expect(stage.due?.()).toBe(300);
    expect(lapsed(stage, 300)).toEqual(["300 woken at 300"]);
    expect(stage.due?.()).toBeUndefined();
  });

  it("hands on what a stage says when it is woken", () => {
    const louder: Stage<string, string> = { each: (event, emit) => emit(`${event}!`) };
    expect(lapsed(chain([waiting(1), louder]), 1)).toEqual(["1 woken at 1!"]);
  });

  it("is done as soon as one of its stages is", () => {
    const done: Stage<string, string> = { each: (event, emit) => emit(event), done: () => true };
    expect(chain([done, shout]).done?.()).toBe(true);
    expect(chain([double, done]).done?.()).toBe(true);
    expect(chain([double, shout]).done?.()).toBe(false);
  });
});

describe("a line of stages", () => {
  const line = (...stages: readonly Stage<string, string>[]): [StageLine<string>, string[]] => {
    const out: string[] = [];
    return [new StageLine(stages, (event) => void out.push(event)), out];
  };
  const twice: Stage<string, string> = {
    each(event, emit) {
      emit(event);
      emit(event);
    },
    end: (emit) => emit("over"),
  };
  const loud: Stage<string, string> = { each: (event, emit) => emit(`${event}!`) };

  it("hands what one stage says to the next, to the last word", () => {
    const [stages, out] = line(twice, loud);
    stages.each("a");
    stages.end();
    expect(out).toEqual(["a!", "a!", "over!"]);
    const [none, same] = line();
    none.each("a");
    none.end();
    expect(same).toEqual(["a"]);
  });

  it("wakes only the stage whose moment has come", () => {
    const [stages, out] = line(waiting(300), waiting(100), loud);
    expect(stages.due()).toBe(100);
    stages.lapse(100);
    expect([stages.due(), out]).toEqual([300, ["100 woken at 100!"]]);
  });

  it("is done as soon as one of its stages is", () => {
    expect(line(twice, loud)[0].done()).toBe(false);
    expect(line(twice, { ...loud, done: () => true })[0].done()).toBe(true);
  });
});

describe("the earliest moment", () => {
  const at = (due: number | undefined) => ({ due: () => due });
  it("takes no moment for later than any", () => {
    expect(earliestDue([at(undefined), {}])).toBeUndefined();
    expect(earliestDue([at(undefined), at(2)])).toBe(2);
    expect(earliestDue([at(1), at(undefined)])).toBe(1);
    expect(earliestDue([at(3), at(2)])).toBe(2);
  });
});
