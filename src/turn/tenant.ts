/** The owner of stored state: the name of the API key of a request. No tenant can see the state of another. */
export type Tenant = string;

/** The one tenant of a gateway without keys. */
export const LOCAL_TENANT: Tenant = "local";
