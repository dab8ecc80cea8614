import { Fault, type FaultCode } from "../../turn/fault.ts";

/** By SQLSTATE, or by its class. */
const byState: Readonly<Record<string, readonly [FaultCode, string]>> = {
  "08": ["store.unavailable", "lost the connection"],
  "25006": ["store.unavailable", "takes no writes: it is a standby"],
  "28": ["store.unavailable", "refuses the user or the password of `store.url`"],
  "3D000": ["store.unavailable", "has no database of the name in `store.url`"],
  "3F000": ["store.unavailable", "has lost its tables; the next request creates them"],
  "40": ["store.unavailable", "aborted a write that conflicted with another"],
  "42501": ["store.unavailable", "does not let the user of `store.url` create or use its tables"],
  "42P01": ["store.unavailable", "has lost its tables; the next request creates them"],
  "53100": ["store.full", "has a disk that is full"],
  "53": ["store.unavailable", "has no room for another connection"],
  "55P03": ["store.unavailable", "has tables that another client has locked"],
  "57014": ["store.timeout", "took too long"],
  "57": ["store.unavailable", "is starting or shutting down"],
  "58": ["store.unavailable", "reports a system error"],
  XX001: ["store.unusable", "is damaged"],
  XX002: ["store.unusable", "is damaged"],
};

/**
 * The Fault for an error of a query. It contains only the code, because messages of a server may
 * quote values. An error without a code means that there is no connection.
 */
export function postgresFault(error: unknown): Fault {
  if (error instanceof Fault) return error;
  const { code = "", name } = error as NodeJS.ErrnoException;
  const known = byState[code] ?? byState[code.slice(0, 2)];
  if (known !== undefined) return faultOf(known[0], known[1], code, error);
  if (name === "PostgresError") return faultOf("gateway.internal", "refused a query", code, error);
  return faultOf("store.unavailable", "cannot be reached", code, error);
}

const faultOf = (fault: FaultCode, what: string, code: string, cause: unknown): Fault =>
  new Fault(fault, `The PostgreSQL server of the store ${what} (${code}).`, {}, cause);
