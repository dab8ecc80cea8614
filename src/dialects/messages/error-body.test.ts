import { expect, it } from "vitest";
import { Fault } from "../../turn/fault.ts";
import { errorBody, rejectedCapability } from "./error-body.ts";

it.each([
  ["role 'system' is not supported on this model", "mid_conv_system"],
  ["System message must be at the beginning.", "mid_conv_system"],
  ["messages.0.content.0.cache_control: Extra inputs are not permitted", "cache_control_field"],
  ["messages.1.content.0: Invalid `signature` in `thinking` block", "thinking_signature"],
  ["adaptive thinking is not supported on this model", "thinking_type:adaptive"],
  ["Unsupported value: 'reasoning_effort' is not supported", "effort_unsupported"],
  ["This model does not support the effort parameter", "effort_unsupported"],
  ["response_format json_schema is unavailable now", "structured_outputs_unsupported"],
  ["This model does not support image input", "image_block"],
  ["image dimensions exceed max allowed size for many-image requests", "media_budget"],
  ["PDF input is not supported", "document_block"],
  [
    "Unexpected value(s) `x-y-2026-01-02` for the `anthropic-beta` header",
    "beta_header:x-y-2026-01-02",
  ],
  ["anthropic-beta: unknown value context-1m-2025-08-07", "beta_header:context-1m-2025-08-07"],
  ["tools.0.custom.name: String should match pattern", undefined],
  ["max_tokens must be a number", undefined],
])("reads a refusal in the words %j as %s", (message, capability) => {
  const wanted = capability === undefined ? undefined : `capability_rejected: ${capability}`;
  expect(rejectedCapability(message)).toBe(wanted);
});

it.each([
  ["Prompt has 9,000 tokens, over the maximum context length 8,192", "prompt is too long: 9000"],
  ["context_length_exceeded", "capability_rejected: prompt_too_long"],
  ["image exceeds the maximum size of 5 MB", "image exceeds the maximum size of 5 MB"],
])("says in its own words whether %j is about the length", (message, shown) => {
  const { error } = errorBody(new Fault("upstream.refused", message, { status: 400 }));
  expect(error).toMatchObject({ message: expect.stringContaining(shown) });
});
