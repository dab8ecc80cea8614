import { askOf } from "../ask.ts";
import { residentMegabytes } from "../cpu.ts";
import { median } from "../figures.ts";
import type { Part } from "../part.ts";
import { verdict } from "../report.ts";
import { scenario } from "../scenarios.ts";

const requests = 50_000;
const step = 1000;
const connections = 16;
/** Growth from the third quarter to the last that a garbage collector may cause by itself. */
const mostGrowth = 0.05;
const mostMegabytes = 180;

/** 50,000 requests through both doors, memory read after every thousand. */
export const soak: Part = {
  name: "soak",
  when: "soak",
  async measure(stand) {
    const faces = stand.subjects.filter(
      (each) => each.name.startsWith("patchbay") && each.costOnly !== true,
    );
    const asks = ["one-tool", "text-stream"].flatMap((id) =>
      faces.map((face) => askOf(face, scenario(id))),
    );
    const [face] = faces;
    if (!face) throw new Error("Patchbay takes no part, so there is nothing to soak");
    const read: number[] = [];
    for (let done = 0; done < requests; done += step) {
      if (done % 10_000 === 0) stand.say(`soak: ${done} of ${requests} requests`);
      const outcome = await stand.run({ port: face.port, asks, connections, requests: step });
      if (outcome.fault) throw new Error(`soak, after ${done} requests: ${outcome.fault}`);
      read.push(residentMegabytes(face.pid));
    }
    const quarter = (at: number) =>
      median(read.slice((read.length * at) / 4, (read.length * (at + 1)) / 4));
    const growth = quarter(3) / quarter(2) - 1;
    const most = Math.max(...read);
    const grown = `${(growth * 100).toFixed(1)} %`;
    const show = (megabytes: number) => `${megabytes.toFixed(0)} MB`;
    return {
      title: `Memory of Patchbay over ${requests.toLocaleString("en")} requests`,
      table: {
        head: ["", "1st quarter", "2nd", "3rd", "4th", "most"],
        rows: [["resident", ...[0, 1, 2, 3].map((at) => show(quarter(at))), show(most)]],
      },
      figures: { megabytes: read, growth, most },
      checks: [
        {
          what: "patchbay: growth of memory over the last half",
          target: `<= ${mostGrowth * 100} %`,
          measured: grown,
          verdict: verdict(growth, growth <= mostGrowth),
        },
        {
          what: "patchbay: most memory during the soak",
          target: `< ${mostMegabytes} MB`,
          measured: show(most),
          verdict: verdict(most, most < mostMegabytes),
        },
      ],
    };
  },
};
