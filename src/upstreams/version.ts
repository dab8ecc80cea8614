/** The package's version, which upstreams receive. A test compares it with `package.json`. */
export const version = "0.1.0";
