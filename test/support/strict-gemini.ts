/** Google's refusals of requests, after the rules of its API for schemas, the order of contents and signatures. */

import type { Body } from "./fake-upstream.ts";

export type StrictRules = {
  /** The model; rules differ by its generation. */
  readonly model: string;
  /** Vertex AI, which has other fields than AI Studio. */
  readonly isVertex?: boolean;
  /** True for signatures that this model made. */
  readonly isOwn?: (signature: string) => boolean;
};

export const geminiModelNames = [
  "gemini-3.5-flash",
  "gemini-3-pro-preview",
  "gemini-4-argon",
  "gemini-2.5-pro",
  "gemini-2.5-flash",
  "gemini-2.0-flash",
  "gemma-3-27b",
] as const;

const DUMMY = "skip_thought_signature_validator";
const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));

const topFields = words(
  "contents systemInstruction tools toolConfig safetySettings generationConfig cachedContent continuationToken model",
);
const studioFields = words("serviceTier store");
const vertexFields = words("labels");
const configFields = words(
  "temperature topP topK maxOutputTokens candidateCount stopSequences seed presencePenalty frequencyPenalty responseLogprobs logprobs responseMimeType responseSchema responseJsonSchema thinkingConfig responseModalities speechConfig imageConfig mediaResolution",
);
const schemaFields = words(
  "type format title description nullable enum items minItems maxItems properties required minProperties maxProperties minimum maximum minLength maxLength pattern example anyOf propertyOrdering default",
);
const partFields = words(
  "text inlineData fileData functionCall functionResponse executableCode codeExecutionResult toolCall toolResponse thought thoughtSignature videoMetadata mediaResolution",
);
const dataFields = words(
  "text inlineData fileData functionCall functionResponse executableCode codeExecutionResult toolCall toolResponse",
);
const toolFields = words(
  "functionDeclarations googleSearch googleSearchRetrieval urlContext codeExecution googleMaps fileSearch computerUse",
);
const typeNames = words("STRING NUMBER INTEGER BOOLEAN ARRAY OBJECT NULL");

class Refusal extends Error {}
const refuse = (message: string): never => {
  throw new Refusal(message);
};

function onlyKnown(fields: Body, known: ReadonlySet<string>, at: string): void {
  for (const key of Object.keys(fields))
    if (!known.has(key))
      refuse(`Invalid JSON payload received. Unknown name "${key}" at '${at}': Cannot find field.`);
}

/** The message with which the API refuses a request; undefined if it takes it. */
export function geminiRefusal(body: Body, rules: StrictRules): string | undefined {
  try {
    checkFields(body, rules);
    checkTools(body, rules);
    checkConfig(body, rules);
    checkContents(body["contents"], rules);
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
}

const isThird = (model: string): boolean => !/gemini-[12]\.|gemma/.test(model);

function checkFields(body: Body, { isVertex = false, model }: StrictRules): void {
  const more = isVertex ? vertexFields : studioFields;
  onlyKnown(body, new Set([...topFields, ...more]), "");
  const system = body["systemInstruction"] as Body | undefined;
  if (system === undefined) return;
  if (model.startsWith("gemma")) refuse("Developer instruction is not enabled for this model");
  if ((system["parts"] as Body[]).length === 0)
    refuse("system_instruction.parts must not be empty");
  if (!(system["parts"] as Body[]).every((part) => typeof part["text"] === "string"))
    refuse("system_instruction must be text");
}

function checkTools(body: Body, { model, isVertex = false }: StrictRules): void {
  const tools = (body["tools"] ?? []) as Body[];
  const names: string[] = [];
  let builtins = 0;
  for (const [at, tool] of tools.entries()) {
    onlyKnown(tool, toolFields, `tools[${at}]`);
    if (Object.keys(tool).length !== 1) refuse(`tools[${at}] must have one kind`);
    if (tool["functionDeclarations"] === undefined) builtins++;
    for (const [index, one] of ((tool["functionDeclarations"] ?? []) as Body[]).entries()) {
      const place = `tools[${at}].function_declarations[${index}]`;
      onlyKnown(one, words("name description parameters parametersJsonSchema"), place);
      if (!/^[A-Za-z_][A-Za-z0-9_.:-]{0,63}$/.test(String(one["name"])))
        refuse("Invalid function name. Must start with a letter or an underscore.");
      if (names.includes(one["name"] as string))
        refuse(`Duplicate function declaration found: ${one["name"]}`);
      names.push(one["name"] as string);
      if (one["parameters"] !== undefined) {
        const parameters = one["parameters"] as Body;
        if (one["parametersJsonSchema"] !== undefined) refuse("only one of the schemas may be set");
        if (parameters["type"] !== "OBJECT") refuse("parameters schema should be of type OBJECT");
        checkSchema(parameters, `${place}.parameters`);
      }
    }
  }
  if (names.length > 512) refuse("too many function declarations");
  const config = (body["toolConfig"] ?? {}) as Body;
  onlyKnown(
    config,
    words(
      `functionCallingConfig retrievalConfig${isVertex ? "" : " includeServerSideToolInvocations"}`,
    ),
    "tool_config",
  );
  const isMixed = builtins > 0 && names.length > 0;
  if (isMixed && !isThird(model)) refuse("Tool use with function calling is unsupported");
  if (isMixed && !isVertex && config["includeServerSideToolInvocations"] !== true)
    refuse(
      "Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling.",
    );
  const calling = (config["functionCallingConfig"] ?? {}) as Body;
  const { mode, allowedFunctionNames: allowed } = calling;
  if (mode !== undefined && !["AUTO", "ANY", "NONE", "VALIDATED"].includes(String(mode)))
    refuse(`Invalid value at 'tool_config.function_calling_config.mode': ${String(mode)}`);
  if (mode !== undefined && names.length === 0)
    refuse("Function calling config is set without function_declarations.");
  if (allowed === undefined) return;
  if (mode !== "ANY" && mode !== "VALIDATED")
    refuse("Allowed function names should be set only when the calling mode is ANY.");
  const list = allowed as string[];
  if (list.length === 0 || list.some((name) => !names.includes(name)))
    refuse("allowed_function_names should be a subset of the declared functions");
}

/** A schema of protobuf. */
function checkSchema(schema: Body, at: string): void {
  onlyKnown(schema, schemaFields, at);
  const { type, anyOf, properties, required, items, format } = schema;
  if (Array.isArray(type)) refuse(`Proto field is not repeating, cannot start list. at '${at}'`);
  if (anyOf !== undefined) {
    if (Object.keys(schema).length > 1)
      refuse(
        "schema specified other fields alongside any_of. When using any_of, it must be the only field set.",
      );
    for (const one of anyOf as Body[]) checkSchema(one, `${at}.any_of`);
    return;
  }
  if (type === undefined) refuse(`${at}: schema didnt specify the schema type field`);
  if (!typeNames.has(String(type))) refuse(`Invalid value at '${at}.type'`);
  if (schema["enum"] !== undefined) {
    if (type !== "STRING") refuse("enum: only allowed for STRING type");
    for (const value of schema["enum"] as unknown[])
      if (typeof value !== "string")
        refuse(`Invalid value at '${at}.enum[0]' (TYPE_STRING), ${String(value)}`);
  }
  if (type === "STRING" && format !== undefined && format !== "enum" && format !== "date-time")
    refuse("only 'enum' and 'date-time' are supported for STRING type");
  if (type === "OBJECT" && Object.keys((properties ?? {}) as Body).length === 0)
    refuse(`${at}.properties: should be non-empty for OBJECT type`);
  if (type === "ARRAY" && items === undefined) refuse(`${at}.items: missing field`);
  if (type !== "ARRAY" && items !== undefined)
    refuse("field predicate failed: $type == Type.ARRAY");
  for (const name of (required ?? []) as string[])
    if (!Object.hasOwn((properties ?? {}) as Body, name))
      refuse(`${at}.required[0]: property is not defined`);
  if (items !== undefined) checkSchema(items as Body, `${at}.items`);
  for (const [key, one] of Object.entries((properties ?? {}) as Body)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(key)) refuse(`Invalid property name ${key}`);
    checkSchema(one as Body, `${at}.properties[0].value`);
  }
}

function checkConfig(body: Body, { model }: StrictRules): void {
  const config = (body["generationConfig"] ?? {}) as Body;
  onlyKnown(config, configFields, "generation_config");
  const hasFunctions = ((body["tools"] ?? []) as Body[]).some(
    ({ functionDeclarations: one }) => one,
  );
  const { temperature, stopSequences, responseMimeType, thinkingConfig, responseJsonSchema } =
    config;
  if (temperature !== undefined && !(Number(temperature) >= 0 && Number(temperature) <= 2))
    refuse("temperature must be in the range [0.0, 2.0]");
  if (((stopSequences ?? []) as string[]).length > 5) refuse("too many stop sequences");
  if (responseJsonSchema !== undefined && responseMimeType !== "application/json")
    refuse("response_json_schema needs the mime type application/json");
  if (responseMimeType === "application/json" && hasFunctions && !isThird(model))
    refuse("Function calling with a response mime type: 'application/json' is unsupported");
  const mode = (
    (body["toolConfig"] as Body | undefined)?.["functionCallingConfig"] as Body | undefined
  )?.["mode"];
  if (responseMimeType === "application/json" && mode === "ANY")
    refuse("Forced function calling with a response mime type is unsupported");
  if (
    /gemini-2\.5/.test(model) &&
    (config["presencePenalty"] ?? config["frequencyPenalty"]) !== undefined
  )
    refuse("Penalty is not enabled for this model");
  if (thinkingConfig === undefined) return;
  const { thinkingBudget: budget, thinkingLevel: level, ...others } = thinkingConfig as Body;
  onlyKnown(others, words("includeThoughts"), "generation_config.thinking_config");
  if (/gemini-2\.0|gemma/.test(model)) refuse("Thinking is not enabled for this model");
  if (budget !== undefined && level !== undefined)
    refuse("You can only set only one of thinking budget and thinking level.");
  if (level !== undefined && !isThird(model))
    refuse("Thinking level is not supported for this model.");
  const levels = /3-pro/.test(model)
    ? ["LOW", "HIGH"]
    : /3\.5-flash/.test(model)
      ? ["MINIMAL", "LOW", "MEDIUM", "HIGH"]
      : ["LOW", "MEDIUM", "HIGH"];
  if (level !== undefined && !levels.includes(String(level)))
    refuse(`Thinking level ${String(level)} is not supported for this model.`);
  if (budget === undefined || budget === -1) return;
  const [least, most] = /2\.5-pro/.test(model) ? [128, 32_768] : [0, 24_576];
  if (Number(budget) < least)
    refuse(`Budget ${String(budget)} is invalid. This model only works in thinking mode.`);
  if (Number(budget) > most) refuse(`The thinking budget ${String(budget)} is invalid.`);
}

const isCall = (part: Body): boolean => part["functionCall"] !== undefined;
const isResult = (part: Body): boolean => part["functionResponse"] !== undefined;

function checkContents(raw: unknown, rules: StrictRules): void {
  const contents = raw as Body[];
  if (!Array.isArray(contents) || contents.length === 0) refuse("contents is not specified");
  let calls: Body[] = [];
  let last: unknown;
  for (const [at, content] of contents.entries()) {
    onlyKnown(content, words("role parts"), `contents[${at}]`);
    const { role } = content;
    const parts = content["parts"] as Body[];
    if (role !== "user" && role !== "model") refuse("Please use a valid role: user, model.");
    if (role === last)
      refuse("Please ensure that multiturn requests alternate between user and model.");
    last = role;
    if (!Array.isArray(parts) || parts.length === 0) refuse("contents.parts must not be empty");
    for (const [index, part] of parts.entries())
      checkPart(part, `contents[${at}].parts[${index}]`, rules);
    const called = parts.filter(isCall);
    const results = parts.filter(isResult);
    if (called.length > 0 && (role !== "model" || at === 0))
      refuse(
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
      );
    if (results.length > 0 && calls.length === 0)
      refuse(
        "Please ensure that function response turn comes immediately after a function call turn.",
      );
    if (results.length !== calls.length)
      refuse(
        "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
      );
    if (results.length > 0) {
      if (parts.findLastIndex(isResult) !== results.length - 1)
        refuse("function responses must come first");
      for (const [index, part] of results.entries()) {
        const { id, name } = part["functionResponse"] as Body;
        const call = calls[index]?.["functionCall"] as Body;
        if (name !== call["name"]) refuse("function_response.name: Name does not match the call");
        if (id !== call["id"]) refuse("function_response.id does not match the call");
      }
    }
    calls = called;
  }
  if (calls.length > 0) refuse("the calls of the last turn have no responses");
  if (contents[0]?.["role"] !== "user" || contents.at(-1)?.["role"] !== "user")
    refuse(
      "Please ensure that single turn requests end with a user role or the role field is empty.",
    );
  if (isThird(rules.model)) checkSignatures(contents);
}

function checkPart(part: Body, at: string, { isOwn, model }: StrictRules): void {
  onlyKnown(part, partFields, at);
  const kinds = Object.keys(part).filter((key) => dataFields.has(key));
  if (kinds.length !== 1 && !(kinds.length === 0 && part["thoughtSignature"] !== undefined))
    refuse(`${at}.data: required oneof field 'data' must have one initialized field`);
  const { text, thoughtSignature: signature, functionCall, functionResponse, inlineData } = part;
  if (text === "" && signature === undefined)
    refuse("Unable to submit request because it has an empty text parameter");
  if (signature !== undefined && signature !== DUMMY) {
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(String(signature)))
      refuse(`Invalid value at '${at}.thought_signature' (TYPE_BYTES), Base64 decoding failed`);
    if (isOwn !== undefined && !isOwn(String(signature))) refuse("Corrupted thought signature.");
  }
  if (functionCall !== undefined) {
    const call = functionCall as Body;
    onlyKnown(call, words("id name args"), `${at}.function_call`);
    if (typeof call["args"] !== "object" || call["args"] === null || Array.isArray(call["args"]))
      refuse(`Invalid value at '${at}.function_call.args'`);
  }
  if (functionResponse !== undefined) {
    const result = functionResponse as Body;
    onlyKnown(result, words("id name response parts"), `${at}.function_response`);
    if (result["name"] === undefined || result["name"] === "")
      refuse("function_response.name: Name cannot be empty.");
    const { response, parts } = result;
    if (typeof response !== "object" || response === null)
      refuse(`Invalid value at '${at}.function_response.response'`);
    if (Array.isArray(response)) refuse("Proto field is not repeating, cannot start list.");
    if (JSON.stringify(response).includes('"$ref":')) refuse("a reference without its part");
    if (parts !== undefined && !isThird(model))
      refuse("Multimodal function responses are not supported for this model");
  }
  if (inlineData !== undefined) {
    const { mimeType, data } = inlineData as Body;
    if (!/^[\w.+-]+\/[\w.+-]+$/.test(String(mimeType)))
      refuse(`Unsupported MIME type: ${String(mimeType)}`);
    if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(String(data))) refuse("Base64 decoding failed");
  }
}

/** The first call of every step since the user's last text must be signed. */
function checkSignatures(contents: readonly Body[]): void {
  const start = contents.findLastIndex(
    (one) => one["role"] === "user" && !(one["parts"] as Body[]).some(isResult),
  );
  for (const [at, content] of contents.entries()) {
    if (at < start || content["role"] !== "model") continue;
    const first = (content["parts"] as Body[]).find(isCall);
    if (first !== undefined && first["thoughtSignature"] === undefined)
      refuse(
        `Function call is missing a thought_signature in functionCall parts. Additional data, function call \`default_api:${String((first["functionCall"] as Body)["name"])}\` , position ${at}.`,
      );
  }
}
