import type { LookupOptions } from 'node:dns';
import http from 'node:http';
import https from 'node:https';
import { type LookupFunction, isIP } from 'node:net';
import type { Clock } from '../../core/lib/clock.ts';
import { forbidden, isListed, loopback } from '../../core/lib/addresses.ts';
import { cutLine } from '../../core/lib/cut-line.ts';
import { resolveHost, lookupFrom } from '../../core/lib/resolve-host.ts';
import { version } from '../../core/lib/self.ts';
import { type Delivery, messageOf, type Outcome } from './outcome.ts';
import { readSecret, signatureHeaders } from './signature.ts';
import { isLoopbackHost } from '../../core/config/hooks-section.ts';

/** The maximum of a response body that is read and ignored, in bytes: the status is enough. */
const MAX_ANSWER_BYTES = 64 * 1024;
const MAX_HEADER_BYTES = 16 * 1024;
const ERROR_UNITS = 300;

/**
 * Sends an event to the address of a hook by a signed POST. Any status but 2xx is a failure, a redirect too, which is
 * not followed. No proxy of the environment is used, and no cookie or token is sent.
 */
export async function sendPost(
  deps: { clock: Clock; ownUrl: () => string },
  hook: { name: string; url: string; secretFile: string; timeoutMs: number },
  delivery: Delivery,
  signal: AbortSignal,
): Promise<Outcome> {
  const url = new URL(hook.url);
  const over = new AbortController();
  const stop = () =>
    over.abort(
      new Error(
        'the hook request was cancelled by cadre, because the server is stopping or the hook changed',
      ),
    );
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  const limit = deps.clock.after(hook.timeoutMs, () =>
    over.abort(new Error(`the URL of the hook sent no response within ${hook.timeoutMs} ms`)),
  );
  try {
    if (leadsTo(deps.ownUrl(), url))
      throw new Error(`the URL ${url.origin} is the address of this server itself`);
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
    const objection = isIP(host) === 0 ? null : objectionToAddress(host, url);
    if (objection !== null) throw new Error(objection);
    const { body, event } = delivery;
    const seal = { id: event.id, now: deps.clock.now(), body };
    const headers = {
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
      'user-agent': `cadre/${version}`,
      'cadre-hook': hook.name,
      'cadre-event-seq': String(event.seq),
      'cadre-event-kind': event.kind,
      ...signatureHeaders(readSecret(hook.secretFile), seal),
    };
    const status = await statusOf(url, headers, body, over.signal);
    if (status >= 200 && status < 300) return { ok: true };
    const redirect = status >= 300 && status < 400 ? ', and redirects are not followed' : '';
    return { ok: false, error: `${url.origin} responded with ${status}${redirect}` };
  } catch (error) {
    const reason: unknown = over.signal.aborted ? over.signal.reason : error;
    return { ok: false, error: cutLine(messageOf(reason), ERROR_UNITS) ?? 'unknown failure' };
  } finally {
    limit[Symbol.dispose]();
    signal.removeEventListener('abort', stop);
  }
}

/** Resolves with the status of the answer once the body is read, or is longer than anybody needs. */
function statusOf(
  url: URL,
  headers: Record<string, string>,
  body: string,
  signal: AbortSignal,
): Promise<number> {
  const { promise, resolve: settle, reject } = Promise.withResolvers<number>();
  const { Agent, request } = url.protocol === 'https:' ? https : http;
  const agent = new Agent({ keepAlive: false });
  const sent = request(url, {
    method: 'POST',
    headers,
    // The shared agent may use a proxy that the environment sets.
    agent,
    lookup: guardedLookup(url),
    maxHeaderSize: MAX_HEADER_BYTES,
    signal,
    ...(url.protocol === 'https:' ? { rejectUnauthorized: true } : {}),
  });
  let status: number | undefined;
  // Once there is a status, it counts: a body that never ends is cut off by the time limit.
  sent.on('error', (error) => (status === undefined ? reject(error) : settle(status)));
  // Upgrades and tunnels are answers that nobody asked for.
  sent.once('upgrade', (answer, socket) => {
    socket.destroy();
    settle(answer.statusCode ?? 0);
  });
  sent.once('response', (answer) => {
    let bytes = 0;
    const answered = (status = answer.statusCode ?? 0);
    answer.on('data', (part: Buffer) => {
      bytes += part.length;
      if (bytes > MAX_ANSWER_BYTES) answer.destroy();
    });
    answer.on('error', () => settle(answered));
    answer.once('close', () => settle(answered));
  });
  sent.end(body);
  return promise.finally(() => agent.destroy());
}

/** Looks a name up. Rejects if any of its addresses is one that no hook may be sent to. */
async function addressesOf(hostname: string, options: LookupOptions, url: URL) {
  const found = await resolveHost('hooks', hostname, options);
  if (found.length === 0) throw new Error('the host of the URL has no IP address');
  for (const { address } of found) {
    const objection = objectionToAddress(address, url);
    if (objection !== null) throw new Error(objection);
  }
  return found;
}

function guardedLookup(url: URL): LookupFunction {
  return lookupFrom((hostname, options) => addressesOf(hostname, options, url));
}

/** Returns why a hook may not be sent to an address; null: it may. `protocol` and `hostname` are parts of its URL. */
export function objectionToAddress(
  address: string,
  { protocol, hostname }: Pick<URL, 'protocol' | 'hostname'>,
): string | null {
  if (isListed(forbidden, address))
    return `${hostname} is ${address}, an address that hooks may not use`;
  const mustBeLocal = protocol === 'http:' || isLoopbackHost(hostname);
  if (mustBeLocal && !isListed(loopback, address))
    return `${hostname} is ${address}, which is not this machine: use https`;
  return null;
}

/** Whether a URL leads to the server itself, which listens at `own`. */
export function leadsTo(own: string, { hostname, port, protocol }: URL): boolean {
  if (own === '') return false;
  const server = new URL(own);
  const isHere = isLoopbackHost(hostname) || hostname === server.hostname;
  return isHere && (port || (protocol === 'https:' ? '443' : '80')) === (server.port || '80');
}
