import http from 'node:http';
import net from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { expect } from 'vitest';
import type { z } from 'zod';
import type { Endpoint } from '../../../src/api/endpoint.ts';
import { endpoints } from '../../../src/api/index.ts';
import { errorCodes } from '../../../src/api/errors.ts';

/** An answer, as it came. */
export interface Reply {
  status: number;
  headers: http.IncomingHttpHeaders;
  text: string;
  /** The body, read as JSON. */
  json: () => unknown;
}

export interface Asked {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
  /** Leaves out the Host header that goes with every request. */
  noHost?: boolean;
}

/** Every endpoint with its name. */
export const table = Object.entries(endpoints as Record<string, Endpoint>).map(
  ([name, endpoint]) => ({ name, endpoint, request: `${endpoint.method} ${endpoint.path}` }),
);

/** Sends a request as it stands: the path is not touched, and nothing is added but Host. */
export function send(url: string, asked: Asked): Promise<Reply> {
  const { method = 'GET', path, headers = {}, body, noHost = false } = asked;
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const request = http.request({
      hostname,
      port,
      method,
      path,
      headers,
      setHost: !noHost,
      agent: false,
    });
    request.once('error', reject);
    request.once('response', (response) => {
      readText(response).then((text) => {
        const { statusCode: status = 0, headers } = response;
        resolve({ status, headers, text, json: () => JSON.parse(text) as unknown });
      }, reject);
    });
    request.end(body);
  });
}

/** Sends bytes that need not be HTTP; resolves with all that came back. */
export function sendBytes(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = net.connect({ host: hostname, port: Number(port) });
  socket.end(bytes);
  return readText(socket);
}

/** The requests of a test with the token. Each response is checked against the description of its endpoint. */
export interface Api {
  (
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    more?: { body?: unknown; headers?: Record<string, string> },
  ): Promise<Reply>;
}

/** Asks with the token and JSON; what comes back has to be as described, good or bad. */
export function apiOf({ url, token }: { url: string; token: string }): Api {
  return async (method, path, { body, headers = {} } = {}) => {
    const asked: Asked = {
      method,
      path,
      headers: { authorization: `Bearer ${token}`, ...headers },
    };
    if (body !== undefined) {
      asked.headers = { 'content-type': 'application/json', ...asked.headers };
      asked.body = typeof body === 'string' ? body : JSON.stringify(body);
    }
    const reply = await send(url, asked);
    expectAsDescribed(method, path, reply);
    return reply;
  };
}

/** Fails unless the answer is what its endpoint promises, with no field that it does not tell of. */
export function expectAsDescribed(method: string, path: string, reply: Reply): void {
  if (reply.status >= 300) return expectRefusal(reply);
  const found = table.find(({ endpoint }) => endpoint.method === method && matches(endpoint, path));
  if (!found) throw new Error(`no endpoint ${method} ${path} answered ${reply.status}`);
  const { endpoint } = found;
  if (endpoint.answers !== 'json') return;
  expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
  const value = reply.json();
  const parsed = endpoint.response.safeParse(value);
  expect(parsed.error?.issues ?? [], `${method} ${path}`).toEqual([]);
  expect(undescribed(endpoint.response, value), `${method} ${path}`).toEqual([]);
}

/** Fails unless the body is the one every refusal has. */
export function expectRefusal(reply: Reply): void {
  expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
  const body = reply.json() as { error: unknown; code: unknown };
  expect(body.error).toBeTypeOf('string');
  if (reply.status === 401) return expect(body).toEqual(unauthorized);
  expect(Object.keys(body).toSorted()).toEqual(['code', 'error']);
  expect(errorCodes).toContain(body.code);
}

/** Interface 2.2. */
export const unauthorized = { error: 'missing or invalid bearer token' };

/** The path of an endpoint with something in each parameter. */
export function pathOf(endpoint: Endpoint, fill = 'sess_0123'): string {
  // There are only the providers that the interface names.
  return endpoint.path.replaceAll('{provider}', 'acp').replaceAll(/\{\w+\}/g, fill);
}

/** Whether a path is one of an endpoint's. */
export function matches(endpoint: Endpoint, path: string): boolean {
  const pattern = endpoint.path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+');
  return new RegExp(`^${pattern}$`).test(path.split('?')[0] ?? '');
}

interface Definition {
  type: string;
  innerType?: z.ZodType;
  element?: z.ZodType;
  shape?: Record<string, z.ZodType>;
}

/** The fields of a value that its schema says nothing of. */
function undescribed(schema: z.ZodType, value: unknown, at = ''): string[] {
  if (value === null || value === undefined) return [];
  const def = schema.def as unknown as Definition;
  if (def.innerType) return undescribed(def.innerType, value, at);
  const { element, shape } = def;
  if (element)
    return (value as unknown[]).flatMap((one, i) => undescribed(element, one, `${at}[${i}]`));
  if (!shape) return [];
  return Object.entries(value).flatMap(([key, part]) => {
    const field = shape[key];
    return field ? undescribed(field, part, `${at}.${key}`) : [`${at}.${key}`];
  });
}
