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
  "gemini-flash-latest",
  "gemini-4-argon",
  "gemini-2.5-pro",
  "gemini-2.5-flash",
  "gemini-2.5-flash-lite",
  "gemini-2.0-flash",
  "gemma-3-27b",
] as const;

const DUMMY = "skip_thought_signature_validator";
const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));

const topFields = words(
  "contents systemInstruction tools toolConfig safetySettings generationConfig cachedContent continuationToken model",
);
const configFields = words(
  "temperature topP topK maxOutputTokens candidateCount stopSequences seed presencePenalty frequencyPenalty responseLogprobs logprobs responseMimeType responseSchema responseJsonSchema responseFormat thinkingConfig responseModalities speechConfig imageConfig mediaResolution",
);
const schemaFields = words(
  "type format title description nullable enum items minItems maxItems properties required minProperties maxProperties minimum maximum minLength maxLength pattern example anyOf propertyOrdering default",
);
const dataFields = words(
  "text inlineData fileData functionCall functionResponse executableCode codeExecutionResult toolCall toolResponse",
);
const besideData = words("thought thoughtSignature videoMetadata mediaResolution");
/** The fields of each tool. */
const toolFields: Readonly<Record<string, string>> = {
  functionDeclarations: "",
  googleSearch: "timeRangeFilter searchTypes",
  googleSearchRetrieval: "dynamicRetrievalConfig",
  urlContext: "",
  codeExecution: "",
  googleMaps: "enableWidget",
  computerUse: "environment excludedPredefinedFunctions",
};

/** The fields that one of the two services has, and the other refuses. */
const onlyAt = {
  studio: {
    top: "serviceTier store",
    config: "enableEnhancedCivicAnswers",
    toolConfig: "includeServerSideToolInvocations",
    calling: "",
    part: "partMetadata mediaProcessing",
    googleSearch: "",
    tools: { fileSearch: "fileSearchStoreNames topK metadataFilter", mcpServers: "" },
  },
  vertex: {
    top: "labels modelArmorConfig",
    config: "audioTimestamp routingConfig",
    toolConfig: "",
    calling: "streamFunctionCallArguments",
    part: "",
    googleSearch: "excludeDomains blockingConfidence",
    tools: { retrieval: "", enterpriseWebSearch: "", exaAiSearch: "", parallelAiSearch: "" },
  },
} as const;
const typeNames = words("STRING NUMBER INTEGER BOOLEAN ARRAY OBJECT NULL");
/** Fields of schemas that protobuf has as numbers of 64 bits, which may be texts. */
const sizeFields = words("minItems maxItems minProperties maxProperties minLength maxLength");

class Refusal extends Error {}
const refuse = (message: string): never => {
  throw new Refusal(message);
};

function onlyKnown(fields: Body, known: ReadonlySet<string>, at: string): void {
  for (const key of Object.keys(fields))
    if (!known.has(key) || key === "")
      refuse(`Invalid JSON payload received. Unknown name "${key}" at '${at}': Cannot find field.`);
}

/** Values whose names are not those of protobuf. */
const opaque = words("args response parametersJsonSchema responseJsonSchema labels");

/** A body with the names of protobuf in one form; the API reads both. */
function inCamelCase(value: unknown, isNamed = false): unknown {
  if (Array.isArray(value)) return value.map((one) => inCamelCase(one));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => {
      const key = isNamed
        ? name
        : name.replaceAll(/(?<=[a-z])_[a-z]/g, (at) => at.slice(1).toUpperCase());
      return [
        key,
        !isNamed && opaque.has(key)
          ? (one as unknown)
          : inCamelCase(one, key === "properties" && !isNamed),
      ];
    }),
  );
}

/** The message with which the API refuses a request; undefined if it takes it. */
export function geminiRefusal(sent: Body, rules: StrictRules): string | undefined {
  const body = inCamelCase(sent) as Body;
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
const more = (known: ReadonlySet<string>, others: string): ReadonlySet<string> =>
  new Set([...known, ...words(others)]);
const only = (isVertex: boolean | undefined): (typeof onlyAt)["studio" | "vertex"] =>
  onlyAt[isVertex === true ? "vertex" : "studio"];

function checkFields(body: Body, { isVertex, model }: StrictRules): void {
  onlyKnown(body, more(topFields, only(isVertex).top), "");
  const { systemInstruction: system, cachedContent, tools, toolConfig } = body;
  if (cachedContent !== undefined && [system, tools, toolConfig].some((one) => one !== undefined))
    refuse(
      "CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config.",
    );
  if (
    body["serviceTier"] !== undefined &&
    !/^(?:flex|standard|priority)$/.test(body["serviceTier"])
  )
    refuse(`Invalid value at 'service_tier': ${String(body["serviceTier"])}`);
  if (system === undefined) return;
  if (model.startsWith("gemma")) refuse("Developer instruction is not enabled for this model");
  onlyKnown(system as Body, words("role parts"), "system_instruction");
  if (![undefined, "user"].includes(system.role)) refuse("Please use a valid role: user, model.");
  if ((system.parts as Body[]).length === 0) refuse("system_instruction.parts must not be empty");
  for (const part of system.parts as Body[])
    if (typeof part["text"] !== "string" || part["text"] === "")
      refuse("system_instruction must be text");
}

function checkTools(body: Body, { model, isVertex }: StrictRules): void {
  const tools = (body["tools"] ?? []) as Body[];
  const { tools: ofService, googleSearch, toolConfig, calling: ofCalling } = only(isVertex);
  const kinds: Readonly<Record<string, string>> = {
    ...toolFields,
    ...ofService,
    googleSearch: `${toolFields["googleSearch"]} ${googleSearch}`,
  };
  const names: string[] = [];
  let builtins = 0;
  for (const [at, tool] of tools.entries()) {
    onlyKnown(tool, new Set(Object.keys(kinds)), `tools[${at}]`);
    const [kind = "", other] = Object.keys(tool);
    if (kind === "" || other !== undefined) refuse(`tools[${at}] must have one kind`);
    if (kind !== "functionDeclarations") {
      builtins++;
      if (kind !== "mcpServers") onlyKnown(tool[kind] as Body, words(kinds[kind] ?? ""), kind);
      continue;
    }
    const declared = tool[kind] as Body[];
    if (declared.length === 0) refuse(`tools[${at}].function_declarations must not be empty`);
    for (const [index, one] of declared.entries()) {
      const place = `tools[${at}].function_declarations[${index}]`;
      onlyKnown(one, words("name description parameters parametersJsonSchema"), place);
      if (!/^[A-Za-z_][A-Za-z0-9_.:-]{0,63}$/.test(String(one["name"])))
        refuse("Invalid function name. Must start with a letter or an underscore.");
      if (names.includes(one["name"] as string))
        refuse(`Duplicate function declaration found: ${one["name"]}`);
      names.push(one["name"] as string);
      const { parameters, parametersJsonSchema: plain } = one;
      if (parameters !== undefined && plain !== undefined)
        refuse("only one of the schemas may be set");
      if (parameters !== undefined) {
        if (String(parameters.type).toUpperCase() !== "OBJECT")
          refuse("parameters schema should be of type OBJECT");
        checkSchema(parameters as Body, `${place}.parameters`);
      }
      if (plain !== undefined) checkJsonSchema(plain, `${place}.parameters_json_schema`);
      if (plain !== undefined && (plain as Body)["type"] !== "object")
        refuse("parameters schema should be of type OBJECT");
    }
  }
  if (names.length > 512) refuse("too many function declarations");
  const config = (body["toolConfig"] ?? {}) as Body;
  onlyKnown(
    config,
    more(words("functionCallingConfig retrievalConfig"), toolConfig),
    "tool_config",
  );
  const isMixed = builtins > 0 && names.length > 0;
  if (isMixed && !isThird(model)) refuse("Tool use with function calling is unsupported");
  if (isMixed && isVertex !== true && config["includeServerSideToolInvocations"] !== true)
    refuse(
      "Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling.",
    );
  const calling = (config["functionCallingConfig"] ?? {}) as Body;
  onlyKnown(
    calling,
    more(words("mode allowedFunctionNames"), ofCalling),
    "function_calling_config",
  );
  const { mode, allowedFunctionNames: allowed } = calling;
  if (mode !== undefined && !["AUTO", "ANY", "NONE", "VALIDATED"].includes(String(mode)))
    refuse(`Invalid value at 'tool_config.function_calling_config.mode': ${String(mode)}`);
  if (mode !== undefined && names.length === 0)
    refuse("Function calling config is set without function_declarations.");
  if (mode === "NONE" && builtins > 0) throw new Error("NONE does not stop built-in tools");
  if (allowed === undefined) return;
  if (mode !== "ANY" && mode !== "VALIDATED")
    refuse("Allowed function names should be set only when the calling mode is ANY.");
  const list = allowed as string[];
  if (list.length === 0 || list.some((name) => !names.includes(name)))
    refuse("allowed_function_names should be a subset of the declared functions");
}

/** A schema in JSON: words that the API does not know are borne, wrong references are not. */
function checkJsonSchema(root: unknown, at: string): void {
  const visit = (schema: unknown, within: readonly string[], place: string): void => {
    if (typeof schema === "boolean") return;
    if (typeof schema !== "object" || schema === null || Array.isArray(schema))
      return refuse(`Invalid value at '${place}'`);
    const { $ref, type, properties, required = [], ...fields } = schema as Body;
    if ("const" in schema) refuse(`${place}: const is not understood`);
    if (type !== undefined && [type].flat().some((one) => !jsonTypes.has(String(one))))
      refuse(`Invalid value at '${place}.type': ${String(type)}`);
    if ($ref !== undefined) {
      const others = Object.keys(schema).filter(
        (key) => !/^(?:\$.*|description|default)$/.test(key),
      );
      if (others.length > 0) refuse(`${place}: ${others.join()} may not be beside $ref`);
      const name = String($ref).replace("#/$defs/", "");
      const target = ((root as Body)["$defs"] ?? {})[name] as unknown;
      if (target === undefined) refuse(`${place}: ${String($ref)} leads nowhere`);
      if (within.includes(name)) refuse(`${place}: a cycle in a required property`);
      return visit(target, [...within, name], place);
    }
    for (const [key, one] of Object.entries((properties ?? {}) as Body)) {
      const isNeeded = (required as string[]).includes(key);
      // A cycle may only be in optional properties.
      if (isNeeded || !hasCycle(root as Body, one)) visit(one, within, `${place}.${key}`);
    }
    for (const key of ["items", "additionalProperties"])
      if (fields[key] !== undefined) visit(fields[key], within, `${place}.${key}`);
    for (const key of ["anyOf", "oneOf", "prefixItems"])
      for (const one of (fields[key] ?? []) as unknown[]) visit(one, within, `${place}.${key}`);
  };
  visit(root, [], at);
}
const jsonTypes = words("string number integer boolean array object null");

/** True if the references of a schema lead back to one of them. */
function hasCycle(root: Body, schema: unknown, seen: readonly string[] = []): boolean {
  if (typeof schema !== "object" || schema === null) return false;
  const { $ref } = schema as Body;
  if (typeof $ref !== "string")
    return Object.values(schema).some((one) => hasCycle(root, one, seen));
  const name = $ref.replace("#/$defs/", "");
  return seen.includes(name) || hasCycle(root, root["$defs"]?.[name], [...seen, name]);
}

/** A schema of protobuf. */
function checkSchema(schema: Body, at: string): void {
  onlyKnown(schema, schemaFields, at);
  const { anyOf, properties, required, items, format } = schema;
  // Lower case is taken.
  const type = typeof schema["type"] === "string" ? schema["type"].toUpperCase() : schema["type"];
  if (Array.isArray(type)) refuse(`Proto field is not repeating, cannot start list. at '${at}'`);
  if (anyOf !== undefined) {
    if (Object.keys(schema).length > 1)
      refuse(
        "schema specified other fields alongside any_of. When using any_of, it must be the only field set.",
      );
    if ((anyOf as Body[]).length === 0) refuse(`${at}.any_of: must not be empty`);
    for (const one of anyOf as Body[]) checkSchema(one, `${at}.any_of`);
    return;
  }
  for (const [key, value] of Object.entries(schema)) {
    if (sizeFields.has(key) && !/^\d+$/.test(String(value)))
      refuse(`Invalid value at '${at}.${key}' (TYPE_INT64), ${JSON.stringify(value)}`);
    if ((key === "minimum" || key === "maximum") && typeof value !== "number")
      refuse(`Invalid value at '${at}.${key}' (TYPE_DOUBLE), ${JSON.stringify(value)}`);
    if (/^(?:title|description|format|pattern)$/.test(key) && typeof value !== "string")
      refuse(`Invalid value at '${at}.${key}' (TYPE_STRING), ${JSON.stringify(value)}`);
    if (key === "nullable" && typeof value !== "boolean")
      refuse(`Invalid value at '${at}.nullable' (TYPE_BOOL), ${JSON.stringify(value)}`);
  }
  if (type === undefined) refuse(`${at}: schema didnt specify the schema type field`);
  if (!typeNames.has(String(type))) refuse(`Invalid value at '${at}.type'`);
  if (schema["enum"] !== undefined) {
    if (type !== "STRING") refuse("enum: only allowed for STRING type");
    for (const value of schema["enum"] as unknown[])
      if (typeof value !== "string")
        refuse(`Invalid value at '${at}.enum[0]' (TYPE_STRING), ${String(value)}`);
      else if (value === "") refuse(`${at}.enum[0]: cannot be empty`);
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

function checkConfig(body: Body, { model, isVertex }: StrictRules): void {
  const config = (body["generationConfig"] ?? {}) as Body;
  onlyKnown(config, more(configFields, only(isVertex).config), "generation_config");
  const hasFunctions = ((body["tools"] ?? []) as Body[]).some(
    ({ functionDeclarations: one }) => one,
  );
  const { stopSequences = [], responseMimeType, responseSchema, responseJsonSchema } = config;
  const { thinkingConfig, responseLogprobs, logprobs } = config;
  for (const [key, least, most] of ranges) {
    const value = config[key] as unknown;
    if (value !== undefined && !(typeof value === "number" && value >= least && value <= most))
      refuse(`${key} must be in the range [${least}, ${most}]: ${JSON.stringify(value)}`);
  }
  if ((stopSequences as string[]).length > 5) refuse("too many stop sequences");
  if ((stopSequences as string[]).includes("")) refuse("stop sequences must not be empty");
  if (logprobs !== undefined && responseLogprobs !== true)
    refuse("logprobs is only for response_logprobs");
  if (responseSchema !== undefined && responseJsonSchema !== undefined)
    refuse("only one of the schemas may be set");
  if (responseSchema !== undefined) checkSchema(responseSchema as Body, "response_schema");
  if (responseJsonSchema !== undefined) checkJsonSchema(responseJsonSchema, "response_json_schema");
  if (
    ![undefined, "text/plain", "text/x.enum", "application/json"].includes(
      responseMimeType as string,
    )
  )
    refuse(`allowed mimetypes are text/plain, application/json, text/x.enum`);
  const hasSchema = (responseSchema ?? responseJsonSchema) !== undefined;
  if (hasSchema && !["text/x.enum", "application/json"].includes(responseMimeType as string))
    refuse("response_json_schema needs the mime type application/json");
  if (responseMimeType === "application/json" && hasFunctions && !isThird(model))
    refuse("Function calling with a response mime type: 'application/json' is unsupported");
  const { mode = "AUTO" } = (body["toolConfig"]?.functionCallingConfig ?? {}) as Body;
  if (responseMimeType === "application/json" && mode !== "AUTO" && mode !== "NONE")
    refuse("Function calling with a response mime type is only supported in the mode AUTO");
  const hasPenalty = (config["presencePenalty"] ?? config["frequencyPenalty"]) !== undefined;
  if (/gemini-2\.5/.test(model) && isVertex !== true && hasPenalty)
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
  if (level !== undefined && !levels.includes(String(level).toUpperCase()))
    refuse(`Thinking level ${String(level)} is not supported for this model.`);
  if (budget === undefined || budget === -1) return;
  const [least, most] = /2\.5-pro/.test(model) ? [128, 32_768] : [0, 24_576];
  if (/flash-lite/.test(model) && Number(budget) > 0 && Number(budget) < 512)
    refuse(`The thinking budget ${String(budget)} is invalid.`);
  if (Number(budget) < least)
    refuse(`Budget ${String(budget)} is invalid. This model only works in thinking mode.`);
  if (Number(budget) > most) refuse(`The thinking budget ${String(budget)} is invalid.`);
}

const ranges = [
  ["temperature", 0, 2],
  ["topP", 0, 1],
  ["topK", 1, Infinity],
  ["maxOutputTokens", 1, Infinity],
  ["candidateCount", 1, 8],
  ["seed", -2_147_483_648, 2_147_483_647],
  ["presencePenalty", -2, 2],
  ["frequencyPenalty", -2, 2],
  ["logprobs", 1, 20],
] as const;

const isCall = (part: Body): boolean => part["functionCall"] !== undefined;
const isResult = (part: Body): boolean => part["functionResponse"] !== undefined;

function checkContents(raw: unknown, rules: StrictRules): void {
  const contents = raw as Body[];
  if (!Array.isArray(contents) || contents.length === 0) refuse("contents is not specified");
  let calls: Body[] = [];
  let last: unknown;
  for (const [at, content] of contents.entries()) {
    onlyKnown(content, words("role parts"), `contents[${at}]`);
    const { role = "user" } = content;
    const parts = content["parts"] as Body[];
    if (role !== "user" && role !== "model") refuse("Please use a valid role: user, model.");
    if (role === last)
      refuse("Please ensure that multiturn requests alternate between user and model.");
    last = role;
    if (!Array.isArray(parts) || parts.length === 0) refuse("contents.parts must not be empty");
    for (const [index, part] of parts.entries())
      checkPart(part, `contents[${at}].parts[${index}]`, rules);
    const called = parts.filter(isCall);
    const ids = called.map((part) => (part["functionCall"] as Body)["id"] as unknown);
    if (ids.some((id, one) => id !== undefined && ids.indexOf(id) !== one))
      refuse("two function calls have one id");
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

function checkPart(part: Body, at: string, { isOwn, model, isVertex }: StrictRules): void {
  onlyKnown(part, more(new Set([...dataFields, ...besideData]), only(isVertex).part), at);
  const kinds = Object.keys(part).filter((key) => dataFields.has(key));
  if (kinds.length !== 1 && !(kinds.length === 0 && part["thoughtSignature"] !== undefined))
    refuse(`${at}.data: required oneof field 'data' must have one initialized field`);
  const { text, thoughtSignature: signature, functionCall, functionResponse, inlineData } = part;
  if (kinds.includes("text") && typeof text !== "string") refuse(`Invalid value at '${at}.text'`);
  if (part["thought"] !== undefined && typeof part["thought"] !== "boolean")
    refuse(`Invalid value at '${at}.thought' (TYPE_BOOL)`);
  const { toolCall, toolResponse } = part;
  if ((toolCall ?? toolResponse) !== undefined && isThird(model) && signature === undefined)
    refuse(`${at}: a tool invocation is missing a thought_signature`);
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
    if (!/^[A-Za-z_][A-Za-z0-9_.:-]{0,63}$/.test(String(call["name"])))
      refuse(`Invalid function name at '${at}.function_call.name'`);
    if (call["id"] !== undefined && (typeof call["id"] !== "string" || call["id"] === ""))
      refuse(`Invalid value at '${at}.function_call.id'`);
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
    for (const one of (parts ?? []) as Body[])
      onlyKnown(one, words("inlineData fileData"), `${at}.function_response.parts`);
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
