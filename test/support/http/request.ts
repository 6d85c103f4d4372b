import http from 'node:http';
import net from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { expect } from 'vitest';
import type { z } from 'zod';
import type { Endpoint } from '../../../src/api/endpoint.ts';
import { endpoints } from '../../../src/api/index.ts';
import { errorCodes } from '../../../src/api/errors.ts';

/** A response. */
export interface Reply {
  status: number;
  headers: http.IncomingHttpHeaders;
  text: string;
  /** Parses the body as JSON. */
  json: () => unknown;
}

export interface Asked {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
  /** Whether to omit the Host header. */
  noHost?: boolean;
}

/** All endpoints, each with its name, method and path. */
export const table = Object.entries(endpoints as Record<string, Endpoint>).map(
  ([name, endpoint]) => ({ name, endpoint, request: `${endpoint.method} ${endpoint.path}` }),
);

/** Sends a request unchanged: the path is not normalized, and only Host is added. */
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

/** Sends any bytes; resolves with all received bytes. */
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

/** Sends a JSON request with the token; expects a response that matches the description, even if it is an error. */
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

/** Expects that a response matches its endpoint, without undescribed fields. */
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

/** Expects the usual body of a refusal, and the given status, code and text. */
export function expectRefusal(reply: Reply, status?: number, code?: string, error?: unknown): void {
  if (status !== undefined) expect(reply.status).toBe(status);
  expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
  const body = reply.json() as { error: unknown; code: unknown };
  if (code !== undefined) expect(body).toMatchObject({ code });
  if (error !== undefined) expect(body.error).toEqual(error);
  expect(body.error).toBeTypeOf('string');
  if (reply.status === 401) return expect(body).toEqual(unauthorized);
  expect(Object.keys(body).toSorted()).toEqual(['code', 'error']);
  expect(errorCodes).toContain(body.code);
}

/** Interface 2.2. */
export const unauthorized = { error: 'missing or invalid bearer token' };

/** Returns the path of an endpoint with a value for each parameter. */
export function pathOf(endpoint: Endpoint, fill = 'sess_0123'): string {
  // Only known providers are valid.
  return endpoint.path.replaceAll('{provider}', 'acp').replaceAll(/\{\w+\}/g, fill);
}

/** Reports whether a path matches an endpoint. */
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

/** Returns the fields of a value that its schema does not have. */
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
