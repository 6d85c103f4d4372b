import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Endpoint } from '../api/endpoint.ts';
import type { TokenScope } from '../api/tokens.ts';
import { AppError } from '../errors.ts';

/** Who may talk to the server, and under which names. */
export interface AccessRules {
  /** The API token just now. */
  token: () => string;
  /** What the bearer of another token may do; null for one that nobody was given. */
  scopeOf: (token: string) => TokenScope | null;
  /** The session whose agent was given a token; null for one that no agent was given. */
  sessionOf: (token: string) => string | null;
  /** Host names beside the loopback ones that requests may be addressed to. */
  allowedHosts: () => readonly string[];
  /** Origins that a browser may send from. */
  allowedOrigins: () => readonly string[];
}

/** Whose request it is: of people and programs with a token, or of the agent of a session. */
export type Bearer = { scope: TokenScope } | { scope: 'agent'; sessionId: string };

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Who sends a request; null where nobody has to say. Refuses one that is not addressed to us (DNS rebinding),
 * comes from a foreign web page, has no valid token, or one of too small a scope. In that order, before anything
 * else is looked at; public routes skip only the token.
 */
export function admit(
  { method, headers, raw }: EnteringRequest,
  access: Endpoint['access'],
  rules: AccessRules,
): Bearer | null {
  for (const host of hostsOf(raw)) {
    const name = hostName(host);
    if (name !== null && (LOOPBACK.has(name) || isAmong(rules.allowedHosts(), name))) continue;
    throw new AppError(
      'forbidden_host',
      `this server does not answer for the host "${host}": add it to server.allowed_hosts`,
    );
  }
  const { origin } = headers;
  if (origin !== undefined && !rules.allowedOrigins().includes(origin)) {
    throw new AppError(
      'forbidden_origin',
      `requests from the origin "${origin}" are refused: add it to server.allowed_origins`,
    );
  }
  if (access === 'public') return null;
  const bearer = bearerOf(headers.authorization, rules);
  if (bearer === null) throw new AppError('unauthorized', 'missing or invalid bearer token');
  if (bearer.scope === 'agent' && access !== 'gateway') {
    throw new AppError(
      'forbidden_scope',
      'this token is of the agent of a session: it opens the tools under /v1/mcp/ alone',
    );
  }
  if (bearer.scope === 'read' && (access === 'admin' || method !== 'GET')) {
    throw new AppError(
      'forbidden_scope',
      'this token may only read, and no tokens: use one with the scope admin',
    );
  }
  return bearer;
}

/** What is looked at of a request. */
export interface EnteringRequest {
  method: string;
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

/** Null where there is no token, or nobody knows it. */
function bearerOf(header: string | undefined, rules: AccessRules): Bearer | null {
  const given = /^Bearer (.+)$/i.exec(header ?? '')?.[1];
  if (given === undefined) return null;
  // Digests have one length, so the comparison tells nothing of the token's.
  if (timingSafeEqual(digest(given), digest(rules.token()))) return { scope: 'admin' };
  const scope = rules.scopeOf(given);
  if (scope !== null) return { scope };
  const sessionId = rules.sessionOf(given);
  return sessionId === null ? null : { scope: 'agent', sessionId };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
