import type { IncomingHttpHeaders } from 'node:http';
import type { Endpoint } from '../api/endpoint.ts';
import { AppError } from '../errors.ts';
import type { TokenHolder } from './tokens.ts';

/** Who may send requests to the server, and to which host names. */
export interface AccessRules {
  /** The holder of a token for people and programs; null where the token is unknown, revoked or expired. */
  holderOf: (token: string) => TokenHolder | null;
  /** The session whose agent holds a token; null for a token of no agent. */
  sessionOf: (token: string) => string | null;
  /** Host names beside the loopback ones that requests may be addressed to. */
  allowedHosts: () => readonly string[];
  /** Origins that a browser may send from. */
  allowedOrigins: () => readonly string[];
}

/** The sender of a request: the holder of a token, or the agent of a session, by the session's id. */
export type Bearer = TokenHolder | { scope: 'agent'; id: string };

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Refuses a request that is not addressed to us (DNS rebinding), or comes from a foreign web page: `forbidden_host`,
 * `forbidden_origin`. Checked before anything else, on public routes, too. The origin `null` is that of any page
 * that hides where it is from, so it is never allowed.
 */
export function assertAddressed(
  { headers, raw }: EnteringRequest,
  rules: Pick<AccessRules, 'allowedHosts' | 'allowedOrigins'>,
): void {
  for (const host of hostsOf(raw)) {
    const name = hostName(host);
    if (name !== null && (LOOPBACK.has(name) || isAmong(rules.allowedHosts(), name))) continue;
    throw new AppError(
      'forbidden_host',
      `this server does not answer for the host "${host}": add it to server.allowed_hosts`,
    );
  }
  const { origin } = headers;
  if (origin === undefined) return;
  if (origin !== 'null' && rules.allowedOrigins().includes(origin)) return;
  throw new AppError(
    'forbidden_origin',
    `requests from the origin "${origin}" are refused: add it to server.allowed_origins`,
  );
}

/** Who sends a request. Throws `unauthorized` where there is no token, or nobody holds it. */
export function identify(
  authorization: string | undefined,
  rules: Pick<AccessRules, 'holderOf' | 'sessionOf'>,
): Bearer {
  const given = /^Bearer (.+)$/i.exec(authorization ?? '')?.[1];
  const holder = given === undefined ? null : rules.holderOf(given);
  if (holder) return holder;
  const sessionId = given === undefined ? null : rules.sessionOf(given);
  if (sessionId !== null) return { scope: 'agent', id: sessionId };
  throw new AppError('unauthorized', 'missing or invalid bearer token');
}

/** Throws `forbidden_scope` where the scope of a token does not cover a request. */
export function assertScope(
  { scope }: Pick<Bearer, 'scope'>,
  method: string,
  access: Endpoint['access'],
): void {
  if (scope === 'agent' && access !== 'gateway') {
    throw new AppError(
      'forbidden_scope',
      'this token belongs to the agent of a session: it is valid for the tools under /v1/mcp/ alone',
    );
  }
  if (scope === 'tools' && access !== 'gateway') {
    throw new AppError(
      'forbidden_scope',
      'this token is valid for the tools under /v1/mcp/ alone: use one with the scope read or admin',
    );
  }
  if (scope === 'read' && (access === 'admin' || (method !== 'GET' && method !== 'HEAD'))) {
    throw new AppError(
      'forbidden_scope',
      'this token may only read, but not the list of tokens: use one with the scope admin',
    );
  }
}

/** The parts of a request that are checked. */
export interface EnteringRequest {
  headers: IncomingHttpHeaders;
  raw: { url?: string | undefined; rawHeaders: readonly string[] };
}

/** Every name that a request is addressed to: each Host there is, and the host of a full address. */
function hostsOf({ url, rawHeaders }: EnteringRequest['raw']): string[] {
  const hosts = rawHeaders.filter(
    (_, at) => rawHeaders[at - 1]?.toLowerCase() === 'host' && at % 2 === 1,
  );
  const full = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(url ?? '')?.[1];
  if (full !== undefined) hosts.push(full);
  return hosts.length > 0 ? hosts : [''];
}

function isAmong(allowed: readonly string[], name: string): boolean {
  return allowed.some((one) => hostName(one) === name);
}

/** The name of a Host header, without its port, in lower case; null for what is none. */
export function hostName(header: string | undefined): string | null {
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/.exec(header?.toLowerCase() ?? '');
  return match?.[1] ?? null;
}
