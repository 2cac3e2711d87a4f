"""An MCP service with a login, and its authorization server, for tests: `oauth_server.py BEHAVIOUR`. Prints its port.

Behaviours: `plain`; `short` (tokens end after two seconds); `revoked` (a token works for one tool call); `dead` (refresh
tokens are refused); `stale` (every token is refused); `openid` (OpenID Connect Discovery, path in the issuer, client with a
secret); `document` (Client ID Metadata Document, no registration); `bare` (no metadata of the resource); `scope` (tool calls
need the scope `write`). Refused by a client: `no-pkce`, `other-issuer`, `other-resource`, `wrong-iss`, `elsewhere` (names a
machine of an internal network), `plain-http` (names an address without TLS), `denied` (the user refuses).

`/log` returns what happened. The token endpoint checks what OAuth 2.1 requires of a client.
"""

import base64
import hashlib
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, parse_qsl, urlencode, urlparse

BEHAVIOUR = sys.argv[1]
LOG = {"registrations": 0, "codes": 0, "refreshes": 0, "revocations": 0, "calls": 0, "scopes": [], "tokens": [], "problems": []}
CODES, TOKENS, REFRESH = {}, {}, {}
TOOLS = [{"name": "echo", "description": "Repeats a text.", "inputSchema": {"type": "object", "properties": {}}}]


def origin():
    return f"http://127.0.0.1:{server.server_port}"


def issuer():
    return origin() + ("/tenant" if BEHAVIOUR == "openid" else "")


def new(kind):
    new.count += 1
    return f"{kind}-token-{new.count:04}-{hashlib.sha256(str(new.count).encode()).hexdigest()[:12]}"


new.count = 0


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, body=b"", kind="application/json", headers=()):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def json(self, status, value):
        self.reply(status, json.dumps(value).encode())

    def problem(self, error, why):
        LOG["problems"].append(why)
        self.json(400, {"error": error, "error_description": why})

    def do_DELETE(self):
        self.reply(200)

    def do_GET(self):
        url = urlparse(self.path)
        query = dict(parse_qsl(url.query))
        if url.path == "/log":
            return self.json(200, LOG)
        if url.path == "/.well-known/oauth-protected-resource/mcp" and BEHAVIOUR != "bare":
            resource = origin() + "/mcp" if BEHAVIOUR != "other-resource" else "https://example.com/mcp"
            other = {"elsewhere": f"http://127.0.0.2:{server.server_port}", "plain-http": "http://login.example.com"}
            return self.json(200, {"resource": resource, "scopes_supported": ["read"],
                                   "authorization_servers": [other.get(BEHAVIOUR, issuer())]})
        known = "/tenant/.well-known/openid-configuration" if BEHAVIOUR == "openid" else "/.well-known/oauth-authorization-server"
        if url.path == known:
            return self.json(200, self.metadata())
        if url.path == "/authorize":
            return self.authorize(query)
        self.reply(405 if url.path == "/mcp" else 404)

    def metadata(self):
        found = {"issuer": issuer() if BEHAVIOUR != "other-issuer" else "https://example.com",
                 "authorization_endpoint": origin() + "/authorize?audience=x", "token_endpoint": origin() + "/token",
                 "revocation_endpoint": origin() + "/revoke", "response_types_supported": ["code"],
                 "code_challenge_methods_supported": ["plain" if BEHAVIOUR == "no-pkce" else "S256"],
                 "authorization_response_iss_parameter_supported": True}
        if BEHAVIOUR == "document":
            found["client_id_metadata_document_supported"] = True
        else:
            found["registration_endpoint"] = origin() + "/register"
        if BEHAVIOUR == "openid":
            found["scopes_supported"] = ["openid", "offline_access", "read"]
        return found

    def authorize(self, query):
        wanted = ["client_id", "redirect_uri", "state", "code_challenge", "resource"]
        missing = [name for name in wanted if not query.get(name)]
        if missing or query["code_challenge_method"] != "S256" or query["audience"] != "x":
            return self.problem("invalid_request", f"missing {missing}")
        if not query["redirect_uri"].startswith("http://127.0.0.1:"):
            return self.problem("invalid_request", "the redirect does not go to this machine")
        if BEHAVIOUR == "openid" and ("offline_access" not in query["scope"] or query.get("prompt") != "consent"):
            return self.problem("invalid_request", "no offline access")
        LOG["scopes"].append(query.get("scope"))
        answer = {"state": query["state"], "iss": issuer() if BEHAVIOUR != "wrong-iss" else "https://example.com"}
        if BEHAVIOUR == "denied":
            answer["error"] = "access_denied"
        else:
            answer["code"] = new("code")
            CODES[answer["code"]] = query
        self.reply(302, headers=[("location", query["redirect_uri"] + "?" + urlencode(answer))])

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.path == "/register":
            LOG["registrations"] += 1
            wanted = json.loads(body)
            client = {"client_id": "client-1", "redirect_uris": wanted["redirect_uris"]}
            if BEHAVIOUR == "openid":
                client |= {"client_secret": "client secret/1", "token_endpoint_auth_method": "client_secret_basic"}
            return self.json(201, client)
        if self.path == "/token":
            return self.token({name: values[0] for name, values in parse_qs(body.decode()).items()})
        if self.path == "/revoke":
            LOG["revocations"] += 1
            return self.reply(200)
        return self.mcp(json.loads(body))

    def token(self, form):
        if BEHAVIOUR == "openid":
            expected = "Basic " + base64.b64encode(b"client-1:client+secret%2F1").decode()
            if self.headers.get("authorization") != expected:
                return self.problem("invalid_client", "the client did not prove its identity")
        elif not form.get("client_id"):
            return self.problem("invalid_client", "no client")
        if form.get("resource") != origin() + "/mcp":
            return self.problem("invalid_target", f"the resource is {form.get('resource')}")
        if form["grant_type"] == "authorization_code":
            query = CODES.pop(form["code"], None)
            if not query:
                return self.problem("invalid_grant", "the code is not known")
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != query["code_challenge"]:
                return self.problem("invalid_grant", "the verifier does not fit")
            if form["redirect_uri"] != query["redirect_uri"]:
                return self.problem("invalid_grant", "the redirect does not fit")
            LOG["codes"] += 1
            scope = query.get("scope", "")
        else:
            LOG["refreshes"] += 1
            scope = REFRESH.pop(form["refresh_token"], None)
            if scope is None or BEHAVIOUR == "dead":
                return self.json(400, {"error": "invalid_grant"})
        access, refresh = new("access"), new("refresh")
        if form["grant_type"] == "refresh_token":
            TOKENS.clear()
        TOKENS[access], REFRESH[refresh] = scope, scope
        seconds = 2 if BEHAVIOUR == "short" else 3600
        self.json(200, {"access_token": access, "token_type": "Bearer", "expires_in": seconds, "refresh_token": refresh, "scope": scope})

    def mcp(self, request):
        token = (self.headers.get("authorization") or "").removeprefix("Bearer ")
        method = request.get("method")
        if token:
            LOG["tokens"].append(token)
        metadata = f'resource_metadata="{origin()}/.well-known/oauth-protected-resource/mcp"'
        if token not in TOKENS or BEHAVIOUR in ("stale", "dead") and method == "tools/call":
            challenge = "Bearer" if BEHAVIOUR == "bare" else f"Bearer {metadata}"
            return self.reply(401, headers=[("www-authenticate", challenge)])
        if method == "tools/call" and BEHAVIOUR == "scope" and "write" not in TOKENS[token]:
            challenge = f'Bearer error="insufficient_scope", scope="read write", {metadata}'
            return self.reply(403, headers=[("www-authenticate", challenge)])
        if "id" not in request:
            return self.reply(202)
        if method == "server/discover":
            return self.reply(400, b"expected initialize", "text/plain")
        result = {}
        if method == "initialize":
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "oauth", "version": "1"}}
        elif method == "tools/list":
            result = {"tools": TOOLS}
        elif method == "tools/call":
            LOG["calls"] += 1
            result = {"content": [{"type": "text", "text": f"called with {token}"}]}
            if BEHAVIOUR == "revoked":
                TOKENS.clear()
        self.json(200, {"jsonrpc": "2.0", "id": request["id"], "result": result})


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
