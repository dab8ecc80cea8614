/** A type whose fields its maker fills in place, for objects that others only read. */
export type Writable<T> = { -readonly [K in keyof T]: T[K] };
