/** The path of a route below a base URL, whose query is kept. */
export const pathOf = (base: URL, route: string): string =>
  base.pathname.replace(/\/+$/, "") + route + base.search;
