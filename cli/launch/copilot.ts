import type { Agent } from "./agent.ts";

/** GitHub's Copilot CLI by the variables for a provider of the user's own. */
export const copilot: Agent = {
  name: "copilot",
  title: "Copilot CLI",
  commands: ["copilot"],
  install: "npm install -g @github/copilot",
  tried: "1.0, by its documentation",
  point: ({ url, key, model }) => ({
    env: {
      COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
      COPILOT_PROVIDER_TYPE: "openai",
      COPILOT_PROVIDER_WIRE_API: "responses",
      COPILOT_PROVIDER_API_KEY: key,
      COPILOT_MODEL: model,
    },
  }),
};
