import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig(({ mode }) => ({
  test: {
    globalSetup: ["test/support/state-home.ts", "test/support/postgres-server.ts"],
    // Properties try the same cases in every run, so that a failure is about the change at hand;
    // `npm run fuzz:tests` tries new ones.
    setupFiles: mode === "fuzz" ? [] : ["test/support/fixed-seed.ts"],
    // Node runs the TypeScript itself: transforming it costs time, and so does each call of a
    // transformed module into another.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Files share workers and the modules loaded there, which saves a third of their time:
    // nothing in `src` keeps state in a module, and what a test opens it closes.
    isolate: false,
    // Many tests wait for a process or a socket: two more workers than cores keep all cores busy.
    maxWorkers: availableParallelism() + 2,
    // Concurrent tests are those that mostly wait.
    maxConcurrency: 16,
    // They end a test that hangs; a busy machine needs many times as long as a quiet one.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    projects: [
      {
        extends: true,
        test: { name: "source", include: ["src/**/*.test.ts", "cli/**/*.test.ts"] },
      },
      { extends: true, test: { name: "outside", include: ["test/**/*.test.ts"] } },
    ],
  },
}));
