// Loaded before mock.mjs: while the file $HOLD exists, a request to the model gets no answer. $HOLD.log has one line for each.
import fs from 'node:fs';
import http from 'node:http';

const { createServer } = http, { HOLD } = process.env;
http.createServer = handler => createServer((request, response) => {
  const isModel = request.method === 'POST' && /(completions|responses|messages)$/.test(request.url.split('?')[0]);
  if (isModel) fs.appendFileSync(`${HOLD}.log`, `${request.url}\n`);
  if (isModel && fs.existsSync(HOLD)) request.resume(); else handler(request, response);
});
