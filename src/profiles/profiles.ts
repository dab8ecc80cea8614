import type { Profile } from "../turn/profile.ts";
import type { DialectName } from "../turn/turn.ts";
import { anthropic, anthropicBedrock, anthropicVertex } from "./anthropic.ts";
import { azure, azureResponses } from "./azure.ts";
import { codexProfile } from "./codex.ts";
import { deepseek, deepseekMessages } from "./deepseek.ts";
import { gemini, vertex } from "./gemini.ts";
import { geminiChat } from "./gemini-chat.ts";
import { genericChat, genericResponses, genericMessages } from "./generic.ts";
import { groq } from "./groq.ts";
import { llamaCppMessages } from "./llama-cpp.ts";
import { lmstudio, lmstudioMessages } from "./lmstudio.ts";
import { mimo } from "./mimo.ts";
import { minimax, minimaxMessages } from "./minimax.ts";
import { mistral } from "./mistral.ts";
import { moonshot, moonshotMessages } from "./moonshot.ts";
import { ollama, ollamaMessages } from "./ollama.ts";
import { openai, openaiResponses } from "./openai.ts";
import { openrouter } from "./openrouter.ts";
import { qwen, qwenMessages } from "./qwen.ts";
import { scripted, demo } from "./scripted.ts";
import { vllm, vllmMessages } from "./vllm.ts";
import { xai, xaiResponses } from "./xai.ts";
import { zhipu, zhipuMessages } from "./zhipu.ts";

/** Every profile by its name in the configuration. */
export const profiles: ReadonlyMap<string, Profile> = new Map(
  [
    openai,
    openaiResponses,
    anthropic,
    azure,
    azureResponses,
    deepseek,
    gemini,
    geminiChat,
    vertex,
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
    codexProfile,
    scripted,
    demo,
  ].map((profile) => [profile.name, profile]),
);

/**
 * The profile of a name or, without a name, the generic one of the dialect. A provider with several
 * dialects has one name: `openai` means `openai-responses` for that dialect. A script can use any
 * profile.
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
