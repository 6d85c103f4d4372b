import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { AppError } from '../errors.ts';

/** Who may talk to the server, and under which names. */
export interface AccessRules {
  /** The API token just now. */
  token: () => string;
  /** Host names beside the loopback ones that requests may be addressed to. */
  allowedHosts: readonly string[];
  /** Origins that a browser may send from. */
  allowedOrigins: readonly string[];
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Refuses a request that is not addressed to us (DNS rebinding), comes from a foreign web page, or has no
 * valid token. In that order, before anything else is looked at; public routes skip only the token.
 */
export function assertMayEnter(
  headers: IncomingHttpHeaders,
  isPublic: boolean,
  rules: AccessRules,
): void {
  const host = hostName(headers.host);
  if (
    host === null ||
    !(LOOPBACK.has(host) || rules.allowedHosts.some((allowed) => hostName(allowed) === host))
  ) {
    throw new AppError(
      'forbidden_host',
      `this server does not answer for the host "${headers.host ?? ''}": add it to server.allowed_hosts`,
    );
  }
  const { origin } = headers;
  if (origin !== undefined && !rules.allowedOrigins.includes(origin)) {
    throw new AppError(
      'forbidden_origin',
      `requests from the origin "${origin}" are refused: add it to server.allowed_origins`,
    );
  }
  if (!isPublic && !isToken(headers.authorization, rules.token())) {
    throw new AppError('unauthorized', 'missing or invalid bearer token');
  }
}

/** The name of a Host header, without its port, in lower case; null for what is none. */
export function hostName(header: string | undefined): string | null {
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/.exec(header?.toLowerCase() ?? '');
  return match?.[1] ?? null;
}

function isToken(header: string | undefined, token: string): boolean {
  const given = /^Bearer (.+)$/i.exec(header ?? '')?.[1];
  // Digests have one length, so the comparison tells nothing of the token's.
  return given !== undefined && timingSafeEqual(digest(given), digest(token));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
