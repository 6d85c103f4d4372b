import { Readable, Writable } from 'node:stream';
import { type AnyMessage, client, ndJsonStream, RequestError } from '@agentclientprotocol/sdk';
import type { Child } from '../../children/supervisor.ts';

/** An agent's line may be this long; a longer one ends the connection. */
const MAX_LINE_BYTES = 32 * 1024 * 1024;

export interface AcpHandlers {
  /** A `session/update` notification, in the order of the wire; a promise holds back what comes after it. */
  onUpdate(params: unknown): Promise<void> | undefined;
  /** A `session/request_permission` request; answers its outcome. `withdrawn` aborts when the agent takes it back. */
  onPermission(params: unknown, withdrawn: AbortSignal): Promise<unknown>;
  /** A notification or request that cadre knows nothing of. Requests of that kind are refused. */
  onUnknown(): void;
}

/** A JSON-RPC connection to an agent's stdio. */
export interface AcpConnection {
  /** Sends a request. Rejects with the agent's error, or with Error when the connection ends first. */
  request(method: string, params: object): Promise<unknown>;
  notify(method: string, params: object): void;
  close(): void;
  /** Resolves when it has ended, from whichever side. */
  readonly closed: Promise<void>;
}

/** What an agent may send besides `session/update`; the last is the SDK's own affair. */
const KNOWN_METHODS = new Set(['session/request_permission', '$/cancel_request']);

/**
 * Connects to a child that speaks ACP. The SDK drops updates of kinds it does not know, so those are taken
 * off the stream before it sees them: every update is ours, and none comes after the answer that follows it.
 */
export function connectAcp(child: Child, handlers: AcpHandlers): AcpConnection {
  const wire = ndJsonStream(
    Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
    Readable.toWeb(child.stdout),
    { maxMessageBytes: MAX_LINE_BYTES },
  );
  const withoutUpdates = new TransformStream<AnyMessage, AnyMessage>({
    async transform(message, controller) {
      if ('method' in message && message.method === 'session/update' && !('id' in message)) {
        await handlers.onUpdate(message.params);
        return;
      }
      if ('method' in message && !KNOWN_METHODS.has(message.method)) handlers.onUnknown();
      controller.enqueue(message);
      // Whoever waits for an answer acts on it before what comes after it is read.
      if (!('method' in message)) await new Promise((resolve) => setImmediate(resolve));
    },
  });
  const connection = client({ name: 'cadre' })
    .onRequest('session/request_permission', async ({ params, signal }) => ({
      outcome: (await handlers.onPermission(params, signal)) as { outcome: 'cancelled' },
    }))
    .connect({ readable: wire.readable.pipeThrough(withoutUpdates), writable: wire.writable });
  return {
    request: (method, params) => connection.agent.request(method, params as never),
    notify: (method, params) => {
      connection.agent.notify(method, params as never).catch(() => undefined);
    },
    close: () => connection.close(),
    closed: connection.closed,
  };
}

/** The agent's own error of a request, or null when the failure was not an answer of the agent. */
export function agentError(error: unknown): { code: number; message: string } | null {
  if (!(error instanceof RequestError)) return null;
  // Many agents put what went wrong only here.
  const details = (error.data as { details?: unknown } | undefined)?.details;
  const message = typeof details === 'string' ? `${error.message}: ${details}` : error.message;
  return { code: error.code, message };
}

/**
 * Whether a request failed because the agent's end of the connection is gone, rather than because of what
 * came over it. The SDK says so only in words.
 */
export function isClosed(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as NodeJS.ErrnoException;
  return error.message === 'ACP connection closed' || code === 'EPIPE' || code === 'ECONNRESET';
}
