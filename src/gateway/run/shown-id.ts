/** An id as messages quote it: a client may send any text for one, of any length. */
export const shownId = (id: string): string =>
  id.length > 100 ? `${id.slice(0, 100).toWellFormed()}...` : id.toWellFormed();
