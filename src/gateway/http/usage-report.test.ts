import { describe, expect, it } from "vitest";
import { turnDone } from "../../../test/support/turn-done.ts";
import { UsageSums } from "../../history/usage-sums.ts";
import type { Fault } from "../../turn/fault.ts";
import { parseConfig } from "../config.ts";
import { usageEntry } from "../run/record.ts";
import { readUsageQuery, usageBody } from "./usage-report.ts";

const at = (text: string): number => Date.parse(text);
const now = at("2026-03-05T10:20:30Z");
const config = parseConfig({ models: { gpt: "demo/model", "*": "demo/*" } });

describe("a query for usage", () => {
  it("takes dates and moments, and rounds to whole hours", () => {
    const start = at("2026-03-01T00:00:00Z");
    const end = at("2026-03-02T06:00:00Z");
    for (const query of [
      "start=2026-03-01&end=2026-03-02T05:30:00Z",
      "start=2026-03-01T00:10&end=2026-03-02T06:00:00",
      "start=2026-03-01T02:00:00%2B02:00&end=2026-03-02T08:00:00+02:00",
      `start=${start}&end=${end}`,
      `start=${start / 1000}&end=${end / 1000}`,
    ])
      expect(readUsageQuery(query, now)).toMatchObject({ start, end, group: "hour" });
  });

  it("reaches back as far as is kept where it does not say", () => {
    expect(readUsageQuery("", now)).toEqual({
      start: at("2026-01-29T10:00:00Z"),
      end: at("2026-03-05T11:00:00Z"),
      group: "hour",
      model: undefined,
    });
  });

  it.each([
    ["start=yesterday", "start"],
    ["end=2026-13-45", "end"],
    ["start=2026-03-02&end=2026-03-01", "start"],
    ["group=week", "group"],
    ["strat=2026-03-01", "strat"],
  ])("names what is wrong with %s", (query, param) => {
    const wrong = expect.objectContaining({
      code: "request.invalid",
      status: 400,
      detail: { param },
      message: expect.stringContaining(`\`${param}\``) as string,
    }) as Fault;
    expect(() => readUsageQuery(query, now)).toThrow(wrong);
  });
});

describe("usage", () => {
  it("is summed by bucket and by model", () => {
    const store = new UsageSums();
    const turns = [
      turnDone({ at: at("2026-03-04T23:59:00Z") }),
      turnDone({ at: at("2026-03-05T00:00:00Z"), model: "whatever", upstream: "demo/whatever" }),
      turnDone({
        at: at("2026-03-05T09:00:00Z"),
        outcome: "failed",
        usage: undefined,
        calls: { given: 1, withheld: 1, repeated: 0, truncated: true, stopped: false },
      }),
    ];
    for (const turn of turns) store.add("ann", turn.at, usageEntry(turn, config));
    const query = readUsageQuery("group=day", now);
    const body = usageBody(store.read("ann", query.start, query.end), query);
    expect(body).toMatchObject({
      object: "usage",
      group: "day",
      total_requests: 3,
      failed_requests: 1,
      uncounted_requests: 1,
      prompt_tokens: 20,
      completion_tokens: 10,
      total_tokens: 30,
      tool_call_count_total: 9,
      tool_call_truncated_total: 1,
      buckets: [
        { start: at("2026-03-04"), end: at("2026-03-05"), total_requests: 1, models: { gpt: {} } },
        {
          start: at("2026-03-05"),
          total_requests: 2,
          models: {
            gpt: { total_requests: 1, total_tokens: 0, tool_call_truncated_total: 1 },
            "demo/whatever": { total_requests: 1, total_tokens: 15 },
          },
        },
      ],
    });
  });

  it("can be of one model alone", () => {
    const store = new UsageSums();
    store.add("", now, usageEntry(turnDone({ at: now }), config));
    store.add("", now, usageEntry(turnDone({ at: now, model: "other" }), config));
    const query = readUsageQuery("model=gpt", now);
    expect(usageBody(store.read("", query.start, query.end), query)).toMatchObject({
      total_requests: 1,
      models: { gpt: { total_requests: 1 } },
    });
  });
});
