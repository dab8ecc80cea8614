import type { Profile } from "../turn/profile.ts";
import type { DialectName } from "../turn/turn.ts";
import { anthropic } from "./anthropic.ts";
import { deepseekMessages } from "./deepseek-messages.ts";
import { moonshotMessages } from "./moonshot-messages.ts";
import { zhipuMessages } from "./zhipu-messages.ts";
import { minimaxMessages } from "./minimax-messages.ts";
import { qwenMessages } from "./qwen-messages.ts";
import { ollamaMessages } from "./ollama-messages.ts";
import { vllmMessages } from "./vllm-messages.ts";
import { llamaCppMessages } from "./llama-cpp-messages.ts";
import { lmstudioMessages } from "./lmstudio-messages.ts";
import { anthropicBedrock } from "./anthropic-bedrock.ts";
import { anthropicVertex } from "./anthropic-vertex.ts";
import { azureResponses } from "./azure-responses.ts";
import { azure } from "./azure.ts";
import { codex } from "./codex.ts";
import { deepseek } from "./deepseek.ts";
import { demo } from "./demo.ts";
import { gemini } from "./gemini.ts";
import { genericChat } from "./generic-chat.ts";
import { genericMessages } from "./generic-messages.ts";
import { genericResponses } from "./generic-responses.ts";
import { groq } from "./groq.ts";
import { lmstudio } from "./lmstudio.ts";
import { mimo } from "./mimo.ts";
import { minimax } from "./minimax.ts";
import { mistral } from "./mistral.ts";
import { moonshot } from "./moonshot.ts";
import { ollama } from "./ollama.ts";
import { openaiResponses } from "./openai-responses.ts";
import { openai } from "./openai.ts";
import { openrouter } from "./openrouter.ts";
import { qwen } from "./qwen.ts";
import { scripted } from "./scripted.ts";
import { vllm } from "./vllm.ts";
import { xaiResponses } from "./xai-responses.ts";
import { xai } from "./xai.ts";
import { zhipu } from "./zhipu.ts";

/** Every profile by the name that configuration calls it. */
export const profiles: ReadonlyMap<string, Profile> = new Map(
  [
    openai,
    openaiResponses,
    anthropic,
    azure,
    azureResponses,
    deepseek,
    gemini,
    groq,
    lmstudio,
    mimo,
    minimax,
    mistral,
    moonshot,
    ollama,
    openrouter,
    qwen,
    vllm,
    xai,
    xaiResponses,
    zhipu,
    genericChat,
    genericResponses,
    genericMessages,
    anthropicVertex,
    anthropicBedrock,
    deepseekMessages,
    moonshotMessages,
    zhipuMessages,
    minimaxMessages,
    qwenMessages,
    ollamaMessages,
    vllmMessages,
    llamaCppMessages,
    lmstudioMessages,
    codex,
    scripted,
    demo,
  ].map((profile) => [profile.name, profile]),
);

/**
 * The profile of a name or, without one, what any upstream of the dialect is
 * taken for. A provider with several dialects goes by one name: `openai` is
 * `openai-responses` where that is spoken. A script plays any of them.
 */
export function profileFor(
  name: string | undefined,
  dialect: DialectName,
  known = profiles,
): Profile | undefined {
  if (name === undefined) return known.get(`generic-${dialect}`) ?? known.get(dialect);
  const named = known.get(name);
  if (named === undefined || named.dialect === dialect || dialect === "scripted") return named;
  const other = known.get(`${name}-${dialect}`);
  return other?.dialect === dialect ? other : undefined;
}
