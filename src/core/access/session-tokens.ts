import { createHmac, timingSafeEqual } from 'node:crypto';
import { newSecret } from '../lib/ids.ts';

const PREFIX = 'cadre_agent';

/**
 * The tokens of sessions' agents; each is valid for the tools of its own session. They are not stored. `secret`: the secret
 * of an earlier run whose agents are still alive.
 */
export class SessionTokens {
  /** Whoever knows it can issue tokens. */
  readonly secret: string;

  constructor(secret = newSecret()) {
    this.secret = secret;
  }

  of(sessionId: string): string {
    const seal = createHmac('sha256', this.secret).update(sessionId).digest('base64url');
    return [PREFIX, sessionId, seal].join('.');
  }

  /** Returns the session of a token; null for a token that was never issued. */
  sessionOf(token: string): string | null {
    const [prefix, sessionId = ''] = token.split('.');
    if (prefix !== PREFIX) return null;
    const candidate = Buffer.from(token);
    const issued = Buffer.from(this.of(sessionId));
    return candidate.length === issued.length && timingSafeEqual(candidate, issued)
      ? sessionId
      : null;
  }
}
