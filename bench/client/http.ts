import http from 'node:http';

/** Where a server of the interface listens, and its token. */
export interface Address {
  url: string;
  token: string;
}

const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });

/** Sends a request and resolves with the parsed answer. Throws with the answer's text if it was refused. */
export async function ask<T>(
  server: Address,
  method: 'GET' | 'POST',
  path: string,
  body?: unknown,
): Promise<T> {
  const text = await send(server, method, path, body === undefined ? '' : JSON.stringify(body));
  return (text === '' ? null : JSON.parse(text)) as T;
}

/** Creates a session and resolves with its id. */
export async function createSession(server: Address, cwd: string): Promise<string> {
  const body = { provider: 'acp', cwd };
  return (await ask<{ id: string }>(server, 'POST', '/v1/sessions', body)).id;
}

/** Sends a turn that says `text` to the agent; resolves once it is accepted. */
export function sendTurn(server: Address, session: string, text: string): Promise<unknown> {
  return ask(server, 'POST', `/v1/sessions/${session}/turns`, { input: [{ type: 'text', text }] });
}

/** Sends a request and resolves with the text of the answer. */
export function send(
  { url, token }: Address,
  method: string,
  path: string,
  body: string,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = http.request(`${url}${path}`, {
      method,
      agent,
      headers: headersOf(token, body),
    });
    request.once('error', reject);
    request.once('response', (response: http.IncomingMessage) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.once('error', reject);
      response.once('end', () => {
        if ((response.statusCode ?? 500) < 300) resolve(text);
        else reject(new Error(`${method} ${path} answered ${response.statusCode}: ${text}`));
      });
    });
    request.end(body);
  });
}

function headersOf(token: string, body: string): Record<string, string | number> {
  const authorization = `Bearer ${token}`;
  if (body === '') return { authorization };
  const length = Buffer.byteLength(body);
  return { authorization, 'content-type': 'application/json', 'content-length': length };
}
