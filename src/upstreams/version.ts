/** The package's own version, as upstreams are told. A test holds it to `package.json`. */
export const version = "0.1.0";
