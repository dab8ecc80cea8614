import { statusSchema, type Status } from "../../../console/wire.ts";
import { environment } from "../../config/env.ts";
import { askGateway } from "../../control/client.ts";
import { findGateways, type LocalGateway } from "../../control/gateways.ts";
import { exitCode } from "../exit-code.ts";
import { aligned } from "../table.ts";

export type StatusOptions = { readonly json?: boolean | undefined };

/** What is wrong with a gateway, and what to do about it. */
type StatusProblem = { readonly about: string; readonly problem: string };

type Answered = {
  readonly gateway: LocalGateway;
  readonly status: Status;
  readonly problems: readonly StatusProblem[];
};

/** `patchbay status`: every gateway of this user, problems first. */
export async function status({ json = false }: StatusOptions): Promise<void> {
  const gateways = await findGateways(environment());
  const answered = await Promise.all(gateways.map(ask));
  const isWell = answered.every(({ problems }) => problems.length === 0);
  process.exitCode =
    answered.length === 0 ? exitCode.nobody : isWell ? exitCode.well : exitCode.wrong;
  if (json)
    console.log(JSON.stringify(answered.map((one) => ({ problems: one.problems, ...one.status }))));
  else if (answered.length === 0) console.log("No gateway runs here. To start one: patchbay serve");
  else console.log(answered.map((one) => linesOf(one).join("\n")).join("\n\n"));
}

async function ask(gateway: LocalGateway): Promise<Answered> {
  const [socket = ""] = gateway.sockets;
  const found = await askGateway(socket, statusSchema, { path: "/status" });
  return { gateway, status: found, problems: problemsOf(found) };
}

const problemsOf = ({ upstreams, store }: Status): StatusProblem[] => [
  ...upstreams.flatMap(({ name, fault, problem = fault }) =>
    problem === undefined ? [] : { about: `upstream ${name}`, problem },
  ),
  ...(store.problem === undefined ? [] : [{ about: "store", problem: store.problem }]),
];

function linesOf({ gateway, status: found, problems }: Answered): string[] {
  const { version, url, startedAt, upstreams, files } = found;
  const workers = gateway.sockets.length;
  return [
    `Patchbay ${version} on ${url}, process ${gateway.pid}${workers > 1 ? ` with ${workers} workers` : ""}, since ${new Date(startedAt).toLocaleString()}`,
    ...problems.map(({ about, problem }) => `  WRONG  ${about}: ${problem}`),
    ...aligned([
      ["configuration", files.join(", ") || "the environment alone"],
      ["upstreams", upstreams.map(({ name }) => name).join(", ")],
      ["models", Object.keys(found.models).join(", ")],
      ["running turns", String(found.running)],
    ]),
  ];
}
