/** The words of the APIs: what a masked bundle keeps of values, since nobody chose them. */

const wordsIn = (text: string): readonly string[] => text.trim().split(/\s+/);

/** Values of the APIs of all dialects and of Codex, under any of `enumKeys`. */
export const apiWords: ReadonlySet<string> = new Set(
  wordsIn(`
    user assistant system developer tool function critic discriminator model harness
    text object string number integer boolean array null json json_schema json_object grammar lark regex
    message messages reasoning refusal thinking redacted_thinking tool_use tool_result server_tool_use
    mcp_tool_use mcp_tool_result document image audio file input_text output_text input_image input_file
    input_audio image_url file_url summary_text reasoning_text text_delta thinking_delta signature_delta
    input_json_delta citations_delta compaction_delta content_block_start content_block_delta
    content_block_stop message_start message_delta message_stop ping error cache_control ephemeral
    function_call function_call_output custom custom_tool_call custom_tool_call_output local_shell
    local_shell_call local_shell_call_output shell shell_call shell_call_output apply_patch
    apply_patch_call apply_patch_call_output create_file update_file delete_file computer
    computer_call computer_call_output computer_use computer_use_preview computer_screenshot mcp mcp_call
    mcp_list_tools mcp_approval_request mcp_approval_response mcp_toolset code_interpreter code_interpreter_call
    code_execution code_execution_result code_execution_output code_execution_tool_result
    code_execution_tool_result_error bash bash_code_execution_result bash_code_execution_output
    bash_code_execution_tool_result bash_code_execution_tool_result_error text_editor
    text_editor_code_execution_tool_result text_editor_code_execution_tool_result_error
    text_editor_code_execution_create_result text_editor_code_execution_view_result
    text_editor_code_execution_str_replace_result str_replace_based_edit_tool str_replace_editor
    web_search web_search_preview web_search_call web_search_result web_search_tool_result
    web_search_tool_result_error web_search_result_location web_fetch web_fetch_result web_fetch_tool_result
    web_fetch_tool_result_error file_search file_search_call x_search x_search_call image_generation
    image_generation_call tool_search tool_search_tool tool_search_call tool_search_output
    tool_search_tool_regex tool_search_tool_bm25 tool_search_tool_result tool_search_tool_search_result
    tool_search_tool_result_error tool_reference tool_addition tool_removal additional_tools allowed_tools
    namespace item_reference compaction compaction_trigger memory advisor advisor_message
    advisor_result advisor_redacted_result advisor_tool_result browser_toolset computer_toolset
    container_upload search_result search_result_location char_location page_location
    content_block_location url_citation file_citation file_path container_file_citation url base64 content
    approximate exact search open_page find_in_page click double_click drag keypress move screenshot scroll
    type wait exec logs image_file direct any clear_thinking clear_tool_uses reminder fallback
    fallback_message mid_conv_system other reasoning.text reasoning.summary reasoning.encrypted
    anthropic-claude-v1 openai-responses-v1 google-gemini-v1 xai-responses-v1 unknown
    chat.completion chat.completion.chunk text_completion response response.compaction
    response.input_tokens response.deleted list conversation conversation.item model_list
    turn-start text-start text-break text-delta text-note text-end refusal-delta reasoning-start
    reasoning-delta reasoning-end vendor-extra call-start call-delta call-end item-start item-note item-end
    usage turn-end turn-fail frame summary choice answer end calls length filter pause
    auto none required all default true false on off enabled disabled adaptive omitted summarized full
    low medium high xhigh minimal max ultra detailed concise standard standard_only scale flex priority
    on_demand batch single_tool clean explicit
    completed incomplete in_progress inProgress failed cancelled canceled interrupted queued searching
    generating interpreting compacting running pending succeeded success ok idle active notLoaded
    stop tool_calls content_filter stop_sequence end_turn max_tokens max_output_tokens pause_turn
    eos eos_token abort insufficient_system_resource model_context_window_exceeded
    commentary final_answer final analysis
    COMPLETE TOOL_CALL MAX_TOKENS STOP SAFETY RECITATION OTHER ERROR
    chat responses gemini codex scripted jsonl sse wav mp3 pcm16 flac opus aac png jpeg webp
    initialize initialized thread/start thread/started thread/status/changed thread/settings/updated
    thread/tokenUsage/updated thread/readState/changed thread/goal/cleared thread/inject_items
    thread/unsubscribe thread/resume thread/revert thread/reverted turn/start turn/started turn/completed
    turn/interrupt turn/steer turn/settings/update item/started item/completed item/tool/call
    item/agentMessage/delta item/reasoning/textDelta item/reasoning/summaryTextDelta
    item/reasoning/summaryPartAdded rawResponseItem/completed rawResponse/completed configWarning error
    remoteControl/status/changed account/read account/rateLimits/updated account/updated
    userMessage agentMessage dynamicToolCall functionCallOutput inputText inputImage readOnly read-only
    never on-request untrusted workspace-write danger-full-access unsubscribed 2.0
    reasoning.encrypted_content message.output_text.logprobs message.input_image.image_url
    file_search_call.results web_search_call.results web_search_call.action.sources
    code_interpreter_call.outputs computer_call_output.output.image_url
    email date date-time time duration uri uuid hostname ipv4 ipv6 int32 int64 float double binary
  `),
);

/** Values that are built of API words: events of Responses, and tools with the day of their version. */
const BUILT = [
  /^(?:text_editor|bash|computer|web_search|web_search_preview|web_fetch|code_execution|memory|advisor|tool_search_tool_regex|tool_search_tool_bm25|clear_tool_uses|clear_thinking|compact)_\d{4}_?\d{2}_?\d{2}$/,
  /^response\.(?:created|queued|in_progress|completed|incomplete|failed|cancelled|done|create|(?:output_item|content_part|reasoning_summary_part)\.(?:added|done)|(?:output_text|refusal|reasoning|reasoning_text|reasoning_summary|reasoning_summary_text|function_call_arguments|custom_tool_call_input|mcp_call_arguments|code_interpreter_call_code|shell_call_command|shell_call_output_content|apply_patch_call_operation_diff|audio|audio\.transcript)\.(?:added|delta|done)|output_text\.annotation\.added|(?:web_search_call|file_search_call|code_interpreter_call|image_generation_call|mcp_call|mcp_list_tools|compaction)\.(?:in_progress|searching|interpreting|generating|compacting|partial_image|completed|failed))$/,
];

export const isApiWord = (value: string): boolean =>
  value === "" || apiWords.has(value) || BUILT.some((built) => built.test(value));

/** Keys under which such values stand. Under any other key they are content. */
export const enumKeys: ReadonlySet<string> = new Set(
  wordsIn(`
    type role object status event method kind code param reason phase finish_reason stop_reason
    native_finish_reason stop effort syntax detail service_tier encoding format verbosity truncation
    tool_choice function_call include modalities jsonrpc display choice of dialect approvalPolicy sandbox
    summary generate_summary mode required container direction
  `),
);

/** What a type of content may be said to be. */
export const mediaTypes: ReadonlySet<string> = new Set(
  wordsIn(`
    image/png image/jpeg image/jpg image/gif image/webp image/heic image/svg+xml audio/wav audio/mpeg
    audio/mp3 audio/ogg audio/webm audio/aac audio/flac video/mp4 video/webm video/mpeg video/quicktime
    application/pdf application/json application/xml application/zip application/octet-stream
    text/plain text/html text/markdown text/csv text/xml text/css text/javascript
  `),
);

/** What code in a text is said to be. */
export const fenceWords: ReadonlySet<string> = new Set(
  wordsIn("json json5 jsonc xml html yaml toml text txt tool_call tool_use tool_code diff"),
);

/** How ids of the APIs begin; what is behind it, another chose. */
export const ID_PREFIX =
  /^(?:resp|msg|fc|fco|ctc|ctco|call|rs|item|conv|toolu|srvtoolu|mcptoolu|chatcmpl|cmpl|gen|req|ws|fs|ci|ig|cu|lsh|lsho|sh|sho|apc|apco|mcp|mcpl|mcpr|mcpa|tsc|tso|cmp|batch|file|thread|turn|exec|functions)[_.-]/;

/** Words of error sentences: kept there though a conversation has them too. */
export const ordinaryWords: ReadonlySet<string> = new Set(
  wordsIn(`
    a about above access account again all allowed already also an and another any api are argument
    arguments array as asked asks at authentication authorization available bad balance base be because
    been before below between body both but by call called calls can cannot capacity change character
    characters chat check choose client code completion completions concurrency content context could
    credit credits current currently day days declare declared delete did disabled do does done down each
    either empty enable enabled end endpoint error errors exceed exceeded exceeds expected expired failed
    field fields file find first following for forbidden format forbids found from function functions gave
    gateway get given go had has have header here hit hour how id if image in incorrect input insufficient
    instead internal into invalid is it item items its json key known large larger later least leave left
    length less limit limited limits list long made many match max maximum may message messages method
    min minimum minute minutes missing mode model models more most must name named names need needs no
    none not now null number object of off on one only open or organization other our out output over
    overloaded parameter parameters parse part path payment per permission permitted plan please port
    project prompt property provide provided provider query quota raise range rate reached read reason
    received refused rejected remove report reported request requested requests required requires
    resource response responses retry role route say schema second seconds see send sent server service
    set should show size slow so some stop stream string such supplied support supported supports system
    take text than that the their them then there these this those time timeout to token tokens too tool
    tools top total tried try turn two type unable unauthorized unavailable unexpected unknown unless
    unprocessable unrecognized unsupported until up upstream usage use used user using valid value values
    wait was were what when where which while why will with within without would wrong you your
  `),
);
