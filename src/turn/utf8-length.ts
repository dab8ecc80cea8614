const encoder = new TextEncoder();

export const utf8Length = (text: string): number => encoder.encode(text).byteLength;
