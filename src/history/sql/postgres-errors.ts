import { Fault, type FaultCode } from "../../turn/fault.ts";

/** By the class of a SQLSTATE, or the whole of it. */
const byState: Readonly<Record<string, readonly [FaultCode, string]>> = {
  "08": ["store.unavailable", "lost the connection"],
  "25006": ["store.unavailable", "takes no writes: it is a standby"],
  "28": ["store.unavailable", "refuses the user or the password of `store.url`"],
  "3D000": ["store.unavailable", "has no database of the name in `store.url`"],
  "3F000": ["store.unavailable", "has lost its tables; they are made anew"],
  "40": ["store.unavailable", "had two writes in each other's way"],
  "42501": ["store.unavailable", "does not let the user of `store.url` create or use its tables"],
  "42P01": ["store.unavailable", "has lost its tables; they are made anew"],
  "53100": ["store.full", "has a disk that is full"],
  "53": ["store.unavailable", "has no room for another connection"],
  "55P03": ["store.unavailable", "has its tables locked by somebody else"],
  "57014": ["store.timeout", "took too long"],
  "57": ["store.unavailable", "is starting or shutting down"],
  "58": ["store.unavailable", "has a fault of its system"],
  XX001: ["store.unusable", "is damaged"],
  XX002: ["store.unusable", "is damaged"],
};

/**
 * The Fault for an error of a query. Texts of a server may quote values, so the Fault has
 * its code alone. An error without a code means that there is no connection.
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
