/** The path of Chat Completions below a base URL. */

/** Below the base URL of an upstream, and of ours, which ends in `/v1`. */
export const chatRoute = "/chat/completions";
export const chatDoor = `/v1${chatRoute}`;
