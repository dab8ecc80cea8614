/**
 * Whose state it is: the name of the API key that a request came with. Nothing
 * that is kept for one tenant exists for another.
 */
export type Tenant = string;

/** The one tenant of a gateway without keys. */
export const LOCAL_TENANT: Tenant = "local";
