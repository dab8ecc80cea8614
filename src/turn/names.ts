declare const side: unique symbol;

/** The name the client gave a tool. Never leaves for an upstream. */
export type ClientName = string & { readonly [side]: "client" };

/** The name an upstream was told. Never reaches a client. */
export type UpstreamName = string & { readonly [side]: "upstream" };

export type AnyName = ClientName | UpstreamName;

export const clientName = (text: string): ClientName => text as ClientName;
export const upstreamName = (text: string): UpstreamName => text as UpstreamName;
