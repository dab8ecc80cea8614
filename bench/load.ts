// The client's end of every measurement, in a process of its own, so that neither its work nor its
// garbage reaches the figures of a subject.
import { Connection } from "./connection.ts";
import { quantile } from "./figures.ts";

export type Job = {
  readonly port: number;
  /** Whole HTTP requests as text, taken in turn, and the least bytes each must bring back. */
  readonly asks: readonly { readonly text: string; readonly least: number }[];
  readonly connections: number;
  /** Where the load ends: after so many requests or so many seconds, whichever comes first. */
  readonly requests?: number;
  readonly seconds?: number;
  /** Requests per second, sent on time whether or not earlier ones were answered. */
  readonly rate?: number;
};

export type Outcome = {
  readonly answered: number;
  readonly seconds: number;
  readonly p50: number;
  readonly p99: number;
  /** The first thing that went wrong; the figures are worthless then. */
  readonly fault?: string;
};

process.on("message", (job: Job) => {
  run(job, (outcome) => process.send?.(outcome));
});
process.on("disconnect", () => process.exit());

/** Far behind its rate, a load would only measure its own queue. */
const longestQueue = 1000;

function run(job: Job, done: (outcome: Outcome) => void): void {
  const asks = job.asks.map((each) => ({ ...each, bytes: Buffer.from(each.text) }));
  const idle = Array.from({ length: job.connections }, () => new Connection(job.port));
  const all = [...idle];
  const queue: number[] = [];
  const times: number[] = [];
  const start = performance.now();
  const end = start + (job.seconds ?? Infinity) * 1000;
  const most = job.requests ?? Infinity;
  let sent = 0;
  let finished = false;

  const finish = (fault?: string) => {
    if (finished) return;
    finished = true;
    for (const each of all) each.close();
    const seconds = (performance.now() - start) / 1000;
    const figures = { p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
    done({ answered: times.length, seconds, ...figures, ...(fault && { fault }) });
  };

  const wanted = (now: number) => !finished && sent < most && now < end;

  const send = (connection: Connection, since: number) => {
    const ask = asks[sent % asks.length];
    if (!ask) return finish("the job asks for nothing");
    sent += 1;
    connection.ask(ask.bytes, ask.least, (fault) => {
      if (fault) return finish(fault);
      const now = performance.now();
      times.push(now - since);
      const waiting = queue.shift();
      if (waiting !== undefined) return send(connection, waiting);
      if (job.rate === undefined && wanted(now)) return send(connection, now);
      idle.push(connection);
      if (idle.length === all.length && !wanted(now)) finish();
    });
  };

  const pace = (rate: number) => {
    const now = performance.now();
    for (let owed = ((now - start) / 1000) * rate - sent - queue.length; owed >= 1; owed -= 1) {
      const connection = idle.pop();
      if (connection) send(connection, now);
      else queue.push(now);
    }
    if (queue.length > longestQueue) return finish(`cannot keep up with ${rate} requests/s`);
    if (wanted(now)) setTimeout(pace, 1, rate);
    else if (idle.length === all.length) finish();
  };

  if (job.rate !== undefined) pace(job.rate);
  else for (const connection of idle.splice(0)) send(connection, performance.now());
}
