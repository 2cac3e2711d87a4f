// A scripted model for other agents: node model.mjs PORT LOG. One file without dependencies, on loopback only.
//
// Speaks four wires: OpenAI chat completions and responses, Anthropic messages, Gemini generateContent; streamed or not. The script is in
// the prompt: `TOOLS=2` asks for two calls of the agent's own shell tool, one per reply, then the model answers `DONE 2`. The answer
// follows from the request alone, so any number of agents can use one server. The command of a call is MODEL_COMMAND, in which `{n}` is
// the number of results so far. A file MODEL_READY is written once the server listens.
import http from 'node:http';
import fs from 'node:fs';

const [port, log] = [Number(process.argv[2]), process.argv[3]];
const COMMAND = process.env.MODEL_COMMAND || 'true {n}';
const SHELLS = ['bash', 'Bash', 'shell', 'exec_command', 'shell_command', 'run_shell_command', 'developer__shell', 'execute_command'];
const [INPUT, OUTPUT] = [100, 5];

let made = 0;
const id = (prefix) => `${prefix}${Date.now().toString(36)}${++made}`;
const seconds = () => Math.floor(Date.now() / 1e3);

function shellTool(tools) {
  const named = SHELLS.map((name) => tools.find((tool) => tool.name === name)).find(Boolean);
  return named || tools.find((tool) => /(^|_)(bash|shell)$/i.test(tool.name || ''));
}

// The least that a schema accepts, with the command where it belongs.
function fill(schema, key, command, depth = 0) {
  if (!schema || typeof schema !== 'object') return 'x';
  if (schema.enum) return schema.enum[0];
  if (schema.const !== undefined) return schema.const;
  const choice = schema.anyOf || schema.oneOf;
  if (choice) return fill(choice.find((one) => one.type !== 'null') || choice[0], key, command, depth);
  const type = String(Array.isArray(schema.type) ? schema.type[0] : schema.type || '').toLowerCase();
  if (['command', 'cmd', 'script'].includes(key)) return type === 'array' ? ['bash', '-c', command] : command;
  if (type === 'object' || schema.properties) {
    const wanted = ([name]) => (schema.required || []).includes(name) || (['command', 'cmd'].includes(name) && depth < 2);
    const fields = Object.entries(schema.properties || {}).filter(wanted);
    return Object.fromEntries(fields.map(([name, field]) => [name, fill(field, name, command, depth + 1)]));
  }
  if (type === 'boolean') return false;
  if (type === 'number' || type === 'integer') return schema.minimum ?? schema.default ?? 10000;
  return type === 'array' ? [] : 'noop';
}

// The prompt, the number of tool results and the tools of a request.
const readers = {
  chat(body) {
    const users = body.messages.filter((message) => message.role === 'user');
    return {
      texts: users.map((message) => message.content),
      results: body.messages.filter((message) => message.role === 'tool').length,
      tools: (body.tools || []).map((tool) => ({ name: tool.function?.name, schema: tool.function?.parameters })),
    };
  },
  responses(body) {
    const items = typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : body.input || [];
    const flat = (tools, namespace) => (tools || []).flatMap((tool) => (tool.tools ? flat(tool.tools, tool.name)
      : [{ name: tool.name || tool.type, schema: tool.parameters, kind: tool.type, namespace }]));
    return {
      texts: items.filter((item) => item.role === 'user').map((item) => item.content),
      results: items.filter((item) => /_call_output$/.test(item.type || '')).length,
      tools: flat(body.tools),
    };
  },
  anthropic(body) {
    const users = body.messages.filter((message) => message.role === 'user');
    const parts = users.flatMap((message) => (Array.isArray(message.content) ? message.content : []));
    return {
      texts: users.map((message) => message.content),
      results: parts.filter((part) => part.type === 'tool_result').length,
      tools: (body.tools || []).map((tool) => ({ name: tool.name, schema: tool.input_schema })),
    };
  },
  gemini(body) {
    const parts = (body.contents || []).filter((content) => content.role !== 'model').flatMap((content) => content.parts || []);
    const tools = (body.tools || []).flatMap((group) => group.functionDeclarations || []);
    return {
      texts: [parts],
      results: parts.filter((part) => part.functionResponse).length,
      tools: tools.map((tool) => ({ name: tool.name, schema: tool.parameters || tool.parametersJsonSchema })),
    };
  },
};

function wantsJson(body) {
  const gemini = body.generationConfig || {};
  return Boolean(body.response_format || gemini.responseJsonSchema || gemini.responseSchema || body.text?.format?.type === 'json_schema');
}

function decide(kind, body) {
  const { texts, results, tools } = readers[kind](body);
  const text = texts.map((content) => (typeof content === 'string' ? content : (content || []).map((part) => part.text || '').join('\n'))).join('\n');
  const wanted = Number([...text.matchAll(/TOOLS=(\d+)/g)].pop()?.[1] || 0);
  const command = COMMAND.replaceAll('{n}', results);
  const tool = shellTool(tools);
  if (tool && results < wanted) return { tool, args: fill(tool.schema || {}, '', command), command };
  return { text: wantsJson(body) ? '{}' : `DONE ${results}` };
}

function json(response, value) {
  const text = JSON.stringify(value);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  response.end(text);
}

function begin(response) {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  return (event, data) => response.write(`${event ? `event: ${event}\n` : ''}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
}

const writers = {
  chat(response, body, { tool, args, text }) {
    const base = { id: id('chatcmpl-'), created: seconds(), model: body.model };
    const usage = { prompt_tokens: INPUT, completion_tokens: OUTPUT, total_tokens: INPUT + OUTPUT };
    const call = tool && { id: id('call_'), type: 'function', function: { name: tool.name, arguments: JSON.stringify(args) } };
    const reason = call ? 'tool_calls' : 'stop';
    if (!body.stream) {
      const message = { role: 'assistant', content: text ?? null, ...(call ? { tool_calls: [call] } : {}) };
      return json(response, { ...base, object: 'chat.completion', choices: [{ index: 0, finish_reason: reason, message }], usage });
    }
    const send = begin(response);
    const chunk = (delta, finish_reason = null) => send(null, { ...base, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] });
    chunk({ role: 'assistant', content: '' });
    chunk(call ? { tool_calls: [{ index: 0, ...call }] } : { content: text });
    chunk({}, reason);
    send(null, { ...base, object: 'chat.completion.chunk', choices: [], usage });
    send(null, '[DONE]');
    return response.end();
  },
  responses(response, body, { tool, args, text, command }) {
    const whole = (status, output, usage = null) => ({ id: made, object: 'response', created_at: seconds(), status, model: body.model, output, parallel_tool_calls: true, tool_choice: 'auto', tools: [], error: null, incomplete_details: null, instructions: null, metadata: {}, temperature: 1, top_p: 1, usage });
    const usage = { input_tokens: INPUT, input_tokens_details: { cached_tokens: 0 }, output_tokens: OUTPUT, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: INPUT + OUTPUT };
    const namespace = tool?.namespace ? { namespace: tool.namespace } : {};
    let item = { type: 'message', id: id('msg_'), role: 'assistant', status: 'completed', content: [{ type: 'output_text', text, annotations: [] }] };
    if (tool?.kind === 'custom') item = { type: 'custom_tool_call', id: id('ctc_'), call_id: id('call_'), name: tool.name, input: `await tools.exec_command({cmd:${JSON.stringify(command)}})`, status: 'completed' };
    else if (tool) item = { type: 'function_call', id: id('fc_'), call_id: id('call_'), name: tool.name, arguments: JSON.stringify(args), status: 'completed', ...namespace };
    const responseId = id('resp_');
    const shown = (...words) => ({ ...whole(...words), id: responseId });
    if (!body.stream) return json(response, shown('completed', [item], usage));
    const send = begin(response);
    let sequence = 0;
    const event = (type, fields) => send(type, { type, sequence_number: sequence++, ...fields });
    event('response.created', { response: shown('in_progress', []) });
    event('response.in_progress', { response: shown('in_progress', []) });
    const open = item.type === 'message' ? { content: [] } : item.type === 'function_call' ? { arguments: '' } : { input: '' };
    event('response.output_item.added', { output_index: 0, item: { ...item, ...open, status: 'in_progress' } });
    const part = { item_id: item.id, output_index: 0 };
    if (item.type === 'message') {
      event('response.content_part.added', { ...part, content_index: 0, part: { type: 'output_text', text: '', annotations: [] } });
      event('response.output_text.delta', { ...part, content_index: 0, delta: text });
      event('response.output_text.done', { ...part, content_index: 0, text });
      event('response.content_part.done', { ...part, content_index: 0, part: item.content[0] });
    } else if (item.type === 'function_call') {
      event('response.function_call_arguments.delta', { ...part, delta: item.arguments });
      event('response.function_call_arguments.done', { ...part, arguments: item.arguments });
    }
    event('response.output_item.done', { output_index: 0, item });
    event('response.completed', { response: shown('completed', [item], usage) });
    return response.end();
  },
  anthropic(response, body, { tool, args, text }) {
    const usage = { input_tokens: INPUT, output_tokens: OUTPUT, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
    const block = tool ? { type: 'tool_use', id: id('toolu_'), name: tool.name, input: args } : { type: 'text', text };
    const stop_reason = tool ? 'tool_use' : 'end_turn';
    const message = { id: id('msg_'), type: 'message', role: 'assistant', model: body.model, content: [block], stop_reason, stop_sequence: null, usage };
    if (!body.stream) return json(response, message);
    const send = begin(response);
    const event = (type, fields) => send(type, { type, ...fields });
    event('message_start', { message: { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } } });
    event('content_block_start', { index: 0, content_block: tool ? { ...block, input: {} } : { ...block, text: '' } });
    event('content_block_delta', { index: 0, delta: tool ? { type: 'input_json_delta', partial_json: JSON.stringify(args) } : { type: 'text_delta', text } });
    event('content_block_stop', { index: 0 });
    event('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: OUTPUT } });
    event('message_stop', {});
    return response.end();
  },
  gemini(response, body, { tool, args, text }, path) {
    const part = tool ? { functionCall: { name: tool.name, args, id: id('fc') } } : { text };
    const candidates = [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }];
    const usageMetadata = { promptTokenCount: INPUT, candidatesTokenCount: OUTPUT, totalTokenCount: INPUT + OUTPUT };
    const modelVersion = (path.match(/models\/([^:]+):/) || [])[1];
    const reply = { candidates, usageMetadata, modelVersion, responseId: id('r') };
    if (!/streamGenerateContent$/.test(path)) return json(response, reply);
    begin(response)(null, reply);
    return response.end();
  },
};

const WIRES = [[/\/chat\/completions$/, 'chat'], [/\/responses$/, 'responses'], [/\/messages$/, 'anthropic'], [/:(stream)?[gG]enerateContent$/, 'gemini']];

function answer(request, response, raw) {
  const path = request.url.split('?')[0];
  const kind = WIRES.find(([pattern]) => pattern.test(path))?.[1];
  let body = {};
  try { body = raw.length ? JSON.parse(raw) : {}; } catch { /* not JSON: a probe of the agent */ }
  const note = (fields) => fs.appendFileSync(log, `${JSON.stringify({ request: `${request.method} ${path}`, ...fields })}\n`);
  if (kind && request.method === 'POST') {
    const decision = decide(kind, body);
    note({ model: body.model, reply: decision.tool ? `${decision.tool.name} ${JSON.stringify(decision.args)}` : decision.text });
    return writers[kind](response, body, decision, path);
  }
  note({});
  if (/count_tokens$/.test(path)) return json(response, { input_tokens: INPUT });
  if (/:countTokens$/.test(path)) return json(response, { totalTokens: INPUT });
  if (/\/models$/.test(path)) return json(response, { object: 'list', data: [{ id: 'mock-model', object: 'model', created: 1, owned_by: 'mock' }], models: [] });
  return json(response, {});
}

http.createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => answer(request, response, Buffer.concat(chunks)));
}).listen(port, '127.0.0.1', () => { if (process.env.MODEL_READY) fs.writeFileSync(process.env.MODEL_READY, 'ok'); });
