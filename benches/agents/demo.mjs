// The scripted model of the recordings in docs/loop.md and docs/race.md: node demo.mjs PORT. OpenAI chat completions, streamed.
//
// The task is to validate the dates in dates.py. In a loop, the actor needs four iterations. In a race, each model has its own solution:
// that of `model-a` is wrong, that of `model-b` is long, that of `model-c` is short.
import http from 'node:http';

const READ = 'def parse(text):\n    year, month, day = map(int, text.split("-"))\n';
const STEPS = [
  `${READ}    if month < 1:\n        raise ValueError(text)\n    return year, month, day\n`,
  `${READ}    if not 1 <= month <= 12:\n        raise ValueError(text)\n    return year, month, day\n`,
  `${READ}    if not 1 <= month <= 12 or not 1 <= day <= 31:\n        raise ValueError(text)\n    return year, month, day\n`,
  `import datetime\n\n\ndef parse(text):\n    date = datetime.date.fromisoformat(text)\n    return date.year, date.month, date.day\n`,
];
const FEEDBACK = ['months above 12 are accepted', 'days above 31 are accepted', 'February 30 is accepted'];
const LONG = `${READ}    days = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]\n    if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0):\n        days[1] = 29\n    if month < 1 or month > 12:\n        raise ValueError(text)\n    if day < 1 or day > days[month - 1]:\n        raise ValueError(text)\n    return year, month, day\n`;
const SOLUTIONS = { 'model-a': STEPS[1], 'model-b': LONG, 'model-c': STEPS[3] };

const write = (text) => ({ call: { command: `cat > dates.py <<'EOF'\n${text}EOF\n` } });

function decide(body) {
  const all = JSON.stringify(body.messages);
  if (all.includes('You are the critic')) {
    const step = Math.max(...[...all.matchAll(/Step (\d) is written/g)].map((match) => Number(match[1])));
    const empty = { summary: null, confidence: null, feedback: null, recovery: null };
    const decision = FEEDBACK[step - 1] ? { decision: 'CONTINUE', feedback: FEEDBACK[step - 1] }
      : { decision: 'DONE', summary: 'Dates are validated, and all tests pass.', confidence: 0.95 };
    return { text: JSON.stringify({ ...empty, ...decision }) };
  }
  // A call that a kill interrupted is made again.
  const last = body.messages.findLast((message) => message.role === 'tool' || message.role === 'assistant');
  const isAnswered = last?.role === 'tool' && !JSON.stringify(last.content).includes('Interrupted:');
  if (SOLUTIONS[body.model]) return isAnswered ? { text: `Dates are validated (${body.model}).` } : write(SOLUTIONS[body.model]);
  const step = 1 + all.split('A reviewer compared the files').length - 1;
  return isAnswered ? { text: `Step ${step} is written.` } : write(STEPS[step - 1]);
}

let calls = 0;
http.createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const body = JSON.parse(Buffer.concat(chunks) || '{}');
    const { text, call } = decide(body);
    const base = { id: `c${++calls}`, object: 'chat.completion.chunk', created: 1, model: body.model };
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const send = (fields) => response.write(`data: ${JSON.stringify({ ...base, choices: [], ...fields })}\n\n`);
    const choice = (delta, finish_reason = null) => send({ choices: [{ index: 0, delta, finish_reason }] });
    if (call) {
      const made = { index: 0, id: `call_${calls}`, type: 'function', function: { name: 'bash', arguments: JSON.stringify(call) } };
      choice({ role: 'assistant', tool_calls: [made] });
    } else {
      choice({ role: 'assistant', content: text });
    }
    choice({}, call ? 'tool_calls' : 'stop');
    send({ usage: { prompt_tokens: 900, completion_tokens: 60, total_tokens: 960 } });
    response.end('data: [DONE]\n\n');
  });
}).listen(Number(process.argv[2]), '127.0.0.1', () => console.log('ready'));
