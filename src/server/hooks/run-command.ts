import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { agentEnvironment } from '../../core/children/environment.ts';
import type { Child, Supervisor } from '../../core/children/supervisor.ts';
import type { Clock } from '../../core/lib/clock.ts';
import { cutLine } from '../../core/lib/cut-line.ts';
import type { Delivery, Outcome } from './outcome.ts';

const GRACE_MS = 2000;
/** The bytes that a command may print before it is ended. */
const MAX_OUTPUT_BYTES = 1024 * 1024;
/** The end of what it printed on stderr that is looked at for its last line, in UTF-16 code units. */
const KEPT_UNITS = 2000;
const ERROR_UNITS = 300;

/**
 * Runs the command of a hook for one event. It reads the event from stdin, so that no part of it is ever parsed by the
 * shell; its environment is the environment of an agent with variables for the event. It ends with the server, at its time limit, and
 * when it prints without end.
 */
export async function runCommand(
  deps: { supervisor: Supervisor; clock: Clock; directory: string },
  hook: { name: string; command: string; timeoutMs: number },
  { body, event, attempt, secret }: Delivery,
  signal: AbortSignal,
): Promise<Outcome> {
  const child = await deps.supervisor.start({
    command: '/bin/sh',
    args: ['-c', hook.command],
    cwd: deps.directory,
    env: agentEnvironment(process.env, {
      CADRE_HOOK: hook.name,
      CADRE_EVENT_ID: event.id,
      CADRE_EVENT_SEQ: String(event.seq),
      CADRE_EVENT_KIND: event.kind,
      CADRE_HOOK_ATTEMPT: String(attempt),
    }),
    what: `hook ${hook.name}`,
  });
  let why: string | null = null;
  const end = (reason: string) => {
    why ??= reason;
    void child.end(GRACE_MS);
  };
  const stop = () => end('stopped by the server');
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  using _limit = deps.clock.after(hook.timeoutMs, () =>
    end(`timed out after ${hook.timeoutMs} ms`),
  );
  const output = watchOutput(child, secret, () =>
    end(`printed more than ${MAX_OUTPUT_BYTES} bytes`),
  );
  child.stdin.end(`${body}\n`);
  try {
    const { code, signal: killedBy } = await child.exited;
    if (why !== null) await child.rest;
    if (why === null && code === 0) return { ok: true };
    const how = why ?? (killedBy === null ? `exit code ${code}` : `killed by ${killedBy}`);
    const last = cutLine(output(), ERROR_UNITS);
    return { ok: false, error: last === null ? how : `${how}: ${last}`, code, signal: killedBy };
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Counts what a child prints. Returns the function that gives the last line of its stderr so far, without the secret. */
function watchOutput(
  { stdout, stderr }: Child,
  secret: string | null,
  onTooMuch: () => void,
): () => string {
  let bytes = 0;
  let kept = '';
  const count = (stream: Readable, take: (part: Buffer) => void) => {
    stream.on('data', (part: Buffer) => {
      bytes += part.length;
      take(part);
      if (bytes > MAX_OUTPUT_BYTES) onTooMuch();
    });
    stream.on('error', () => undefined);
  };
  count(stdout, () => undefined);
  // A character may be in two parts.
  const decoder = new StringDecoder('utf8');
  count(stderr, (part) => {
    const text = kept + decoder.write(part);
    // The secret is replaced before the cut, which could leave a part of it.
    kept = (secret === null ? text : text.replaceAll(secret, '…')).slice(-KEPT_UNITS);
  });
  return () => kept.trimEnd().split('\n').at(-1) ?? '';
}
