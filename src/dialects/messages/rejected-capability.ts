/** Words for refusals that make clients ask again without what an upstream cannot do. */

/** What an upstream refuses, by the words of its refusal; the first that fits counts. */
const capabilities: readonly (readonly [RegExp, string])[] = [
  [/role ['"`]?system['"`]? (?:is )?not supported|top-level ['"`]?system/i, "mid_conv_system"],
  [/system (?:message|role|prompt)s?\b.{0,40}\b(?:beginning|first|start)\b/i, "mid_conv_system"],
  [
    /cache_control.{0,60}(?:not (?:permitted|supported|allowed)|unknown|extra)/i,
    "cache_control_field",
  ],
  [
    /(?:invalid|malformed)\W{0,3}signature|signature\W.{0,40}(?:invalid|required)/i,
    "thinking_signature",
  ],
  [/adaptive.{0,60}(?:not supported|unsupported|not available)/i, "thinking_type:adaptive"],
  [
    /(?:effort\b.{0,60}(?:not supported|unsupported)|(?:not support|unsupported).{0,40}effort\b)/i,
    "effort_unsupported",
  ],
  [
    /(?:response_format|output_config\.format|output_format|structured outputs?|json_schema).{0,60}(?:not supported|unsupported|unavailable)/i,
    "structured_outputs_unsupported",
  ],
  [/image dimensions exceed|too many images/i, "media_budget"],
  [
    /(?:image|vision)\w*\W.{0,60}(?:not supported|unsupported)|not support.{0,20}(?:image|vision)/i,
    "image_block",
  ],
  [
    /(?:document|pdf)s?\b.{0,60}(?:not supported|unsupported)|not support.{0,20}(?:document|pdf)/i,
    "document_block",
  ],
];
const betaHeader = /anthropic-beta/i;
const betaName = /\b[a-z][a-z0-9-]*-\d{4}-\d{2}-\d{2}\b/i;

/** No refusal names what it is about later than that. */
const LONGEST = 2000;

/**
 * The whole message for a refusal by an upstream of something that clients can do
 * without: Claude Code leaves it out and asks again where it reads this, and asks
 * six times in other ways where it does not. Undefined for other refusals.
 */
export function rejectedCapability(message: string): string | undefined {
  const words = message.slice(0, LONGEST);
  const found = capabilities.find(([pattern]) => pattern.test(words))?.[1] ?? betaIn(words);
  return found === undefined ? undefined : `capability_rejected: ${found}`;
}

function betaIn(words: string): string | undefined {
  const name = betaHeader.test(words) ? betaName.exec(words)?.[0] : undefined;
  return name === undefined ? undefined : `beta_header:${name}`;
}
