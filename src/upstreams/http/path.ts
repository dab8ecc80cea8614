/** Gives the paths of routes below a base URL, whose query is kept. */
export function pathsUnder(base: URL): (route: string) => string {
  const { pathname, search } = base;
  const prefix = pathname.replace(/\/+$/, "");
  return (route) => prefix + route + search;
}
