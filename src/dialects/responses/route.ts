/** The path of the Responses API below a base URL. */

/** Below the base URL of an upstream, and of ours, which ends in `/v1`. */
export const responsesRoute = "/responses";
export const responsesDoor = `/v1${responsesRoute}`;
