/** Whether the agents on PATH are sent to a gateway that is not there. */

import { connect } from "node:net";
import { onPath } from "../../upstreams/codex/command.ts";
import { agents } from "../cli/launch/agents.ts";
import type { Environment } from "../config/env.ts";
import { addressesOf, type NamedAddress } from "./agent-settings.ts";
import type { Check } from "../../console/wire-checks.ts";

export type AgentPlace = {
  readonly env: Environment;
  readonly home: string;
  readonly directory: string;
};

/** One check for each address that an agent is sent to, or one that says that there is none. */
export async function agentChecks(place: AgentPlace): Promise<readonly Check[]> {
  const path = place.env["PATH"] ?? place.env["Path"] ?? "";
  const found = agents.filter(({ commands }) =>
    commands.some((command) => onPath(command, path) !== undefined),
  );
  const checks = await Promise.all(
    found.map(async ({ name, title }): Promise<Check[]> => {
      const addresses = addressesOf(name, place);
      const subject = title;
      if (addresses.length === 0) {
        const evidence = "is on PATH, and its settings name no address of this machine";
        const remedy = `To have it ask this gateway: patchbay launch ${name}`;
        const outcome = "note";
        return [{ group: "agents", id: "agent.address", subject, outcome, evidence, remedy }];
      }
      return Promise.all(addresses.map((address) => addressCheck(subject, address)));
    }),
  );
  return checks.flat();
}

async function addressCheck(subject: string, address: NamedAddress): Promise<Check> {
  const { place, origin, undo } = address;
  const check = { group: "agents", id: "agent.address", subject } as const;
  switch (await whoAnswers(new URL(origin))) {
    case "somebody":
      return {
        ...check,
        outcome: "ok",
        evidence: `${place} sends it to ${origin}, where somebody listens`,
      };
    case "nobody":
      return {
        ...check,
        outcome: "wrong",
        evidence: `${place} sends it to ${origin}, where nothing listens`,
        remedy:
          undo === undefined
            ? `Start the gateway there, or take the address out of ${place}.`
            : `Start the gateway there, or undo it: ${undo}`,
      };
    case "silence":
      return {
        ...check,
        outcome: "unknown",
        evidence: `${place} sends it to ${origin}, which neither answers nor refuses`,
        remedy: "See what runs there.",
      };
  }
}

/** On loopback an answer is there at once. */
const PATIENCE_MS = 500;

function whoAnswers({
  hostname,
  port,
  protocol,
}: URL): Promise<"somebody" | "nobody" | "silence"> {
  return new Promise((resolve) => {
    const host = hostname.replace(/^\[|\]$/g, "");
    const socket = connect({ host, port: Number(port) || (protocol === "https:" ? 443 : 80) });
    const settle = (who: "somebody" | "nobody" | "silence"): void => {
      socket.destroy();
      resolve(who);
    };
    socket.setTimeout(PATIENCE_MS, () => settle("silence"));
    socket.once("connect", () => settle("somebody"));
    socket.once("error", () => settle("nobody"));
  });
}
