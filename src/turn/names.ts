declare const side: unique symbol;

/** The client's name of a tool. It is never sent to an upstream. */
export type ClientName = string & { readonly [side]: "client" };

/** The upstream's name of a tool. It is never sent to a client. */
export type UpstreamName = string & { readonly [side]: "upstream" };

export type AnyName = ClientName | UpstreamName;

export const clientName = (text: string): ClientName => text as ClientName;
export const upstreamName = (text: string): UpstreamName => text as UpstreamName;
