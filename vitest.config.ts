import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    globalSetup: ["test/support/state-home.ts", "test/support/postgres-server.ts"],
    setupFiles: ["test/support/fixed-seed.ts"],
    // Files share workers and the modules loaded there, which saves a third of their time:
    // nothing in `src` keeps state in a module, and what a test opens it closes.
    isolate: false,
    // Left to itself vitest keeps one core for itself: on two that doubles the time.
    maxWorkers: "100%",
    // Concurrent tests are those that mostly wait.
    maxConcurrency: 16,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: { name: "source", include: ["src/**/*.test.ts", "cli/**/*.test.ts"] },
      },
      { extends: true, test: { name: "outside", include: ["test/**/*.test.ts"] } },
    ],
  },
});
