import type { Fault } from "../../turn/fault.ts";

/** An error as the OpenAI API writes it, in a body or in a stream. */
export type FaultBody = {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string;
  };
};

/** Keeps the upstream's own code if there is one: clients of that upstream know it. */
export const faultBody = (fault: Fault): FaultBody => ({
  error: {
    message: fault.message,
    type: fault.type,
    param: fault.detail.param ?? null,
    code: fault.detail.upstreamCode ?? fault.code,
  },
});

export const faultBodyText = (fault: Fault): string => JSON.stringify(faultBody(fault));
