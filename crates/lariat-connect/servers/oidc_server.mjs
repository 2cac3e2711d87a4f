// An MCP service whose authorization server is the certified `oidc-provider`: `oidc_server.mjs PORT`. Every user agrees at once.
import http from 'node:http';
import { Provider } from 'oidc-provider';

const port = Number(process.argv[2]);
const origin = `http://127.0.0.1:${port}`;
const resource = `${origin}/mcp`;
const SECONDS = 3600;

const provider = new Provider(origin, {
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: () => ({ scope: 'read', audience: resource, accessTokenTTL: SECONDS, accessTokenFormat: 'opaque' }),
      useGrantedResource: () => false,
    },
  },
  pkce: { required: () => true },
  scopes: ['openid', 'offline_access'],
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  rotateRefreshToken: true,
  ttl: { AccessToken: SECONDS, RefreshToken: 86400, Grant: 86400, Session: 86400, Interaction: 600 },
  findAccount: (_, sub) => ({ accountId: sub, claims: async () => ({ sub }) }),
});

async function interact(request, response) {
  const details = await provider.interactionDetails(request, response);
  if (details.prompt.name === 'login') {
    return provider.interactionFinished(request, response, { login: { accountId: 'user' } });
  }
  const grant = new provider.Grant({ accountId: details.session.accountId, clientId: details.params.client_id });
  grant.addOIDCScope('openid offline_access');
  grant.addResourceScope(resource, 'read');
  const consent = { grantId: await grant.save() };
  return provider.interactionFinished(request, response, { consent }, { mergeWithLastSubmission: true });
}

async function mcp(request, response) {
  const say = (status, value, headers = {}) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(value === undefined ? '' : JSON.stringify(value));
  };
  if (request.method !== 'POST') return say(405);
  const parts = [];
  for await (const part of request) parts.push(part);
  const token = (request.headers.authorization ?? '').replace(/^Bearer /, '');
  const known = token ? await provider.AccessToken.find(token) : undefined;
  if (!known || known.aud !== resource) {
    return say(401, undefined, { 'www-authenticate': `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"` });
  }
  const message = JSON.parse(Buffer.concat(parts).toString());
  if (message.id === undefined) return say(202);
  const results = {
    initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'oidc', version: '1' } },
    'tools/list': { tools: [{ name: 'who', inputSchema: { type: 'object', properties: {} } }] },
    'tools/call': { content: [{ type: 'text', text: `${known.accountId} ${known.scope} ${known.jti}` }] },
  };
  const result = results[message.method];
  if (!result) return say(400);
  return say(200, { jsonrpc: '2.0', id: message.id, result });
}

const callback = provider.callback();
http.createServer((request, response) => {
  const path = new URL(request.url, origin).pathname;
  if (path === '/mcp') return mcp(request, response);
  if (path.startsWith('/interaction/')) return interact(request, response);
  if (path === '/.well-known/oauth-protected-resource/mcp') {
    response.writeHead(200, { 'content-type': 'application/json' });
    return response.end(JSON.stringify({ resource, authorization_servers: [origin], scopes_supported: ['read'] }));
  }
  return callback(request, response);
}).listen(port, '127.0.0.1', () => console.log('ready'));
