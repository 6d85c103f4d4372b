import type { IncomingHttpHeaders } from 'node:http';
import { isIPv6 } from 'node:net';
import type { Endpoint } from '../../api/endpoint.ts';
import { AppError } from '../../api/errors.ts';
import type { TokenHolder } from './tokens.ts';

export interface AccessRules {
  /** Returns the holder of a token for people and programs; null if the token is unknown, revoked or expired. */
  holderOf: (token: string) => TokenHolder | null;
  /** Returns the session whose agent holds a token; null if it is not an agent's token. */
  sessionOf: (token: string) => string | null;
  /** Returns the allowed host names beside the loopback ones. */
  allowedHosts: () => readonly string[];
  allowedOrigins: () => readonly string[];
  /** Returns the address under which links to approvals are opened, and nothing else is; null: none of its own. */
  linkOrigin: () => string | null;
}

/** The sender of a request: the holder of a token, or an agent, by the id of its session. */
export type Bearer = TokenHolder | { scope: 'agent'; id: string };

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Throws `forbidden_host` for a request that is not addressed to this server (DNS rebinding), `forbidden_origin` for
 * one from a foreign web page. Runs before anything else, on public routes too. The origin `null` is never allowed,
 * because any page that hides its origin sends it.
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
      `the host "${host}" is not allowed: add the host to server.allowed_hosts`,
    );
  }
  const { origin } = headers;
  if (origin === undefined) return;
  if (origin !== 'null' && rules.allowedOrigins().includes(origin)) return;
  throw new AppError(
    'forbidden_origin',
    `the origin "${origin}" is not allowed: add the origin to server.allowed_origins`,
  );
}

/**
 * The same check for the page of a link. The page is also served under the address of links, and its form is sent from
 * the page itself. No other route accepts either of the two.
 */
export function assertLinkAddressed(
  request: EnteringRequest,
  rules: Pick<AccessRules, 'allowedHosts' | 'allowedOrigins' | 'linkOrigin'>,
): void {
  const link = rules.linkOrigin();
  const host = request.headers.host ?? '';
  const own = link === null ? [] : [new URL(link).hostname];
  assertAddressed(request, {
    allowedHosts: () => [...rules.allowedHosts(), ...own],
    // A tunnel may end TLS, and hand on the Host of its own choice.
    allowedOrigins: () => [`http://${host}`, `https://${host}`, ...(link === null ? [] : [link])],
  });
}

/** Returns the sender of a request. Throws `unauthorized` if there is no token, or nobody holds it. */
export function identify(
  authorization: string | undefined,
  rules: Pick<AccessRules, 'holderOf' | 'sessionOf'>,
): Bearer {
  const token = /^Bearer (.+)$/i.exec(authorization ?? '')?.[1];
  const holder = token === undefined ? null : rules.holderOf(token);
  if (holder) return holder;
  const sessionId = token === undefined ? null : rules.sessionOf(token);
  if (sessionId !== null) return { scope: 'agent', id: sessionId };
  throw new AppError('unauthorized', 'missing or invalid bearer token');
}

/** Throws `forbidden_scope` if the scope of a token does not cover a request. */
export function assertScope(
  { scope }: Pick<Bearer, 'scope'>,
  method: string,
  access: Endpoint['access'],
): void {
  if (scope === 'agent' && access !== 'gateway')
    throw forbidden(
      'this token belongs to the agent of a session: it is valid only for the tools under /v1/mcp/',
    );
  if (scope === 'tools' && access !== 'gateway')
    throw forbidden(
      'this token is valid only for the tools under /v1/mcp/: use a token with the scope read or admin',
    );
  if (scope === 'read' && (access === 'admin' || (method !== 'GET' && method !== 'HEAD')))
    throw forbidden(
      'this token is read-only and cannot make this request: use a token with the scope admin',
    );
}

function forbidden(message: string): AppError {
  return new AppError('forbidden_scope', message);
}

export interface EnteringRequest {
  headers: IncomingHttpHeaders;
  raw: { url?: string | undefined; rawHeaders: readonly string[] };
}

/** Returns every name that a request is addressed to: each Host header, and the host of an absolute URL. */
function hostsOf({ url, rawHeaders }: EnteringRequest['raw']): string[] {
  const hosts = rawHeaders.filter(
    (_, at) => rawHeaders[at - 1]?.toLowerCase() === 'host' && at % 2 === 1,
  );
  const full = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(url ?? '')?.[1];
  if (full !== undefined) hosts.push(full);
  return hosts.length > 0 ? hosts : [''];
}

function isAmong(allowed: readonly string[], name: string): boolean {
  // A Host header has an IPv6 address in brackets, which a configuration may leave out.
  return allowed.some((one) => hostName(isIPv6(one) ? `[${one}]` : one) === name);
}

/** Returns the name in a Host header, without its port, in lower case; null if it is not a host name. */
export function hostName(header: string | undefined): string | null {
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/.exec(header?.toLowerCase() ?? '');
  return match?.[1] ?? null;
}
