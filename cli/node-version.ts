/** Why this Node will not do, if it will not. `engines` is the package's own word, such as `>=24`. */
export function nodeProblem(running: string, engines: string): string | undefined {
  const least = Number(/\d+/.exec(engines)?.[0] ?? 0);
  if (Number.parseInt(running, 10) >= least) return undefined;
  return `Patchbay needs Node ${least} or newer, and this is ${running}; install a newer one, from https://nodejs.org for example.`;
}
