import { converse, sumOf, wantedCalls } from "../../test/disclosure/conversation.ts";
import type { Check, Part } from "../part.ts";

const strategies = ["eager", "wrap", "native", "append"] as const;
const counts = [60, 473] as const;
const mostShare = 0.2;

type Row = {
  readonly tools: number;
  readonly strategy: (typeof strategies)[number];
  readonly requests: number;
  /** Over all requests of the conversation. */
  readonly toolBytes: number;
  readonly cachedBytes: number;
  readonly uncachedBytes: number;
  /** Bytes of tools in each request. */
  readonly perRequest: readonly number[];
  /** Of the bytes of tools that sending all of them takes. */
  readonly share: number;
  readonly isPrefixKept: boolean;
};

/**
 * What the tools of a conversation of twenty turns come to, all declared and by
 * each strategy, and how much of the requests begins as the one before did,
 * which is what a provider can take from its cache. Nothing is timed: the same
 * every run.
 */
export const disclosure: Part = {
  name: "disclosure",
  when: "always",
  async measure({ say }) {
    const rows: Row[] = [];
    for (const tools of counts) {
      let eager = 1;
      for (const strategy of strategies) {
        say(`disclosure: ${tools} tools, ${strategy}`);
        const { sent, calls, isPrefixKept } = await converse(tools, strategy);
        if (calls.join() !== wantedCalls.join())
          throw new Error(`${strategy} called ${calls.join()}`);
        const toolBytes = sumOf(sent, "tools");
        if (strategy === "eager") eager = toolBytes;
        rows.push({
          tools,
          strategy,
          requests: sent.length,
          toolBytes,
          cachedBytes: sumOf(sent, "cached"),
          uncachedBytes: sumOf(sent, "uncached"),
          perRequest: sent.map((one) => one.tools),
          share: toolBytes / eager,
          isPrefixKept,
        });
      }
    }
    return {
      title: "Bytes of a conversation of twenty turns, in kB",
      table: {
        head: ["", "requests", "tools", "of eager", "tools per turn", "prefix seen before", "new"],
        rows: rows.map((row) => [
          `${row.tools} tools, ${row.strategy}`,
          String(row.requests),
          kilobytes(row.toolBytes),
          `${(row.share * 100).toFixed(1)} %`,
          kilobytes(row.toolBytes / 20),
          kilobytes(row.cachedBytes),
          kilobytes(row.uncachedBytes),
        ]),
      },
      figures: rows,
      checks: rows
        .filter(({ strategy }) => strategy === "wrap" || strategy === "native")
        .flatMap(checksOf),
    };
  },
};

const kilobytes = (bytes: number): string => (bytes / 1000).toFixed(1);

const checksOf = ({ tools, strategy, share, isPrefixKept }: Row): Check[] => [
  {
    what: `tool bytes of ${tools} tools by ${strategy}, of those of all declared`,
    target: `<= ${mostShare * 100} %`,
    measured: `${(share * 100).toFixed(1)} %`,
    verdict: share <= mostShare ? "PASS" : "MISS",
  },
  {
    what: `each request of ${tools} tools by ${strategy} begins with all of the one before`,
    target: "yes",
    measured: isPrefixKept ? "yes" : "no",
    verdict: isPrefixKept ? "PASS" : "MISS",
  },
];
