import { expect, it } from "vitest";
import { Fault } from "../../turn/fault.ts";
import { faultBody } from "./fault-body.ts";

it("says a fault as the OpenAI API does", () => {
  const fault = new Fault("request.invalid", "`tools` must be an array.", { param: "tools" });
  expect(faultBody(fault)).toEqual({
    error: {
      message: "`tools` must be an array.",
      type: "invalid_request_error",
      param: "tools",
      code: "request.invalid",
    },
  });
});

it("keeps the upstream's own code and says null where no field is to blame", () => {
  const fault = new Fault("upstream.rate_limited", "Slow down.", {
    upstreamCode: "rate_limit_exceeded",
  });
  expect(faultBody(fault).error).toEqual({
    message: "Slow down.",
    type: "rate_limit_error",
    param: null,
    code: "rate_limit_exceeded",
  });
});
