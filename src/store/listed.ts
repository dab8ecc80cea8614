/** How many conversations or completions are listed at most. */
export const MOST_LISTED = 1000;
