import type { Session } from '../../../api/sessions.ts';
import fs from 'node:fs/promises';
import path from 'node:path';
import type { z } from 'zod';
import type { Process } from '../../../api/processes.ts';
import { toolNamespaces } from '../../../api/tools.ts';
import { lastBytesAsJson, jsonBytes } from '../../../core/lib/cut.ts';
import type { ProcessService } from '../../work/processes/service.ts';
import { workingDirectory } from '../../conversations/sessions/working-directory.ts';
import type { Ports } from '../../work/worktrees/ports.ts';
import { ANSWER_BYTES, bounded, boundedPage, fitted, type LeftOut } from './bounded.ts';
import { ToolError, type Answer, type Caller, type Toolkit, toolkit } from './toolkit.ts';
import { type ToolPolicy, inputDetails } from './tool-policy.ts';

const SHOWN = 20;
/** The part of a process's output that is read to show its end. */
const TAIL = { stream: 'both', tail_lines: 100, max_bytes: ANSWER_BYTES } as const;
/** The maximum size of a process record in an answer that also shows output, in bytes. */
const RECORD_BYTES = 4096;
/** The bytes reserved for the envelope and for the notes on omitted output. */
const AROUND_BYTES = 1024;

export function processToolkit({
  processes,
  toolPolicy,
  portsAt,
  describeSandbox,
}: {
  processes: ProcessService;
  toolPolicy: ToolPolicy;
  /** Returns the ports of the worktree that contains a directory. */
  portsAt: (directory: string) => Ports | undefined;
  /** Describes the sandbox of processes of a session; null: they have none. */
  describeSandbox: (session: Session) => Promise<string | null>;
}): Toolkit {
  return toolkit({
    namespace: 'cadre_process',
    descriptions: toolNamespaces.cadre_process,
    runs: {
      async cadre_process_run({ wait_ms, ...body }, caller) {
        assertOutside(body, caller);
        assertOwnPorts(body.ports ?? [], caller.session ? portsAt(caller.session.cwd) : undefined);
        const cwd = await allowedDirectory({ toolPolicy, describeSandbox }, body, caller);
        const owner = caller.session ? { session_id: caller.id } : { caller_id: caller.id };
        const process = await processes.run({ ...body, cwd, ...owner });
        if (!wait_ms) return bounded({ process }, {});
        const { process_id } = process;
        const query = { for: 'exit', timeout_ms: wait_ms };
        const waited = await processes.wait(process_id, query, caller.signal);
        const logs = await processes.logs(process_id, TAIL);
        return withTails(waited.process, logs);
      },
      async cadre_process_status({ process_id, limit, cursor, max_bytes }, caller) {
        const { id } = caller;
        const tool = 'cadre_process_status';
        await toolPolicy.passOne(caller, { tool, action: 'read' }, { process_id });
        const bytes = max_bytes ?? ANSWER_BYTES;
        if (typeof process_id === 'string')
          return bounded({ process: await processes.get(process_id, id) }, {}, bytes);
        const owner = caller.session ? { session_id: id } : { caller_id: id };
        const from = { ...owner, cursor: cursor ?? undefined };
        const read = (count: number) => processes.list({ ...from, limit: count });
        return boundedPage('processes', read, limit ?? SHOWN, bytes);
      },
      async cadre_process_logs(args, caller) {
        const { id } = caller;
        const { process_id, stream, tail_lines, max_bytes, before_byte } = args;
        if (typeof before_byte === 'number' && stream !== 'stdout' && stream !== 'stderr')
          throw new ToolError(
            'bad_request',
            'args.stream: before_byte requires the name of a stream: set stream to stdout or stderr',
          );
        const tool = 'cadre_process_logs';
        await toolPolicy.passOne(caller, { tool, action: 'read' }, { process_id });
        const logs = await processes.logs(process_id, {
          session_id: id,
          stream: stream ?? 'both',
          tail_lines: tail_lines ?? 200,
          max_bytes: max_bytes ?? ANSWER_BYTES,
          before_byte: before_byte ?? undefined,
        });
        return printed(logs, max_bytes ? Number.POSITIVE_INFINITY : ANSWER_BYTES);
      },
      async cadre_process_kill({ process_id, reason }, caller) {
        const { id } = caller;
        const tool = 'cadre_process_kill';
        await toolPolicy.passOne(caller, { tool, action: 'kill' }, { process_id, reason });
        const process = await processes.kill(process_id, id, reason ?? null);
        return bounded({ process }, {});
      },
    },
  });
}

/**
 * Returns the real directory of a command that may run; else throws. The command runs outside the agent's sandbox, so the
 * approval shows all of it. The directory has to be the same one still when the answer comes.
 */
async function allowedDirectory(
  {
    toolPolicy,
    describeSandbox,
  }: { toolPolicy: ToolPolicy; describeSandbox: (session: Session) => Promise<string | null> },
  body: Omit<RunArgs, 'wait_ms'>,
  caller: Caller,
): Promise<string> {
  const cwd = await workingDirectory(path.resolve(caller.session?.cwd ?? '/', body.cwd ?? '.'));
  const before = await identityOf(cwd);
  const sandbox = caller.session ? await describeSandbox(caller.session) : null;
  await toolPolicy.pass(caller, [{ tool: 'cadre_process_run', action: 'run' }], () => ({
    kind: 'command',
    title: body.command,
    request: { ...body, cwd },
    details: [
      { type: 'command', command: body.command, cwd },
      ...inputDetails(body, ['command', 'cwd']),
      ...inputDetails({ sandbox }),
    ],
  }));
  if ((await identityOf(cwd)) === before) return cwd;
  throw new ToolError(
    'unauthorized',
    `cadre_process_run: the directory ${cwd} was replaced while the call waited for approval: call the tool again`,
  );
}

/** Returns what a directory is: where its path leads, and its number there. Null if there is none. */
async function identityOf(directory: string): Promise<string | null> {
  try {
    const real = await fs.realpath(directory);
    const { dev, ino } = await fs.stat(real, { bigint: true });
    return `${real} ${dev} ${ino}`;
  } catch {
    return null;
  }
}

/** Throws unless an external caller says what the session of another caller would. */
function assertOutside({ cwd, on_exit }: Omit<RunArgs, 'wait_ms'>, { session }: Caller): void {
  if (session) return;
  if (!path.isAbsolute(cwd ?? ''))
    throw new ToolError(
      'bad_request',
      'args.cwd: a relative path requires a session, and this caller has no session: pass an absolute path',
    );
  if (on_exit)
    throw new ToolError(
      'bad_request',
      'args.on_exit: a notice requires a session, and this caller has no session: set wait_ms, or call cadre_process_status',
    );
}

/** Throws unless all ports are of the worktree: at other ports, programs of the user expect other servers. */
function assertOwnPorts(ports: readonly number[], own: Ports | undefined): void {
  const { port_base: first = null, port_count: count = 0 } = own ?? {};
  const isOwn = (port: number) => first !== null && port >= first && port < first + count;
  const other = ports.find((port) => !isOwn(port));
  if (other === undefined) return;
  throw new ToolError(
    'bad_request',
    `args.ports: port ${other} is not a port of your worktree, so it cannot be published: ${first === null ? 'leave the ports out' : `use a port from ${first} to ${first + count - 1}`}`,
  );
}

type RunArgs = z.output<(typeof toolNamespaces.cadre_process.cadre_process_run)['args']>;

type Logs = Awaited<ReturnType<ProcessService['logs']>>;

/** Returns a process with the end of its output; each of the two streams may use the room that the other leaves. */
function withTails(process: Process, { process_id, stdout, stderr }: Logs): Answer {
  const record = fitted(process, RECORD_BYTES);
  const room = ANSWER_BYTES - AROUND_BYTES - jsonBytes(record);
  const { out, err, left_out } = endsWithin(room, { stdout, stderr });
  const tool = { tool: 'cadre_process_logs', process_id };
  return {
    process: record,
    stdout_tail: out,
    stderr_tail: err,
    left_out: left_out?.map((left) => ({ ...left, next: { ...tool, ...left.next } })) ?? null,
  };
}

/** Returns as much of a process's output as fits, counted from its end. */
function printed({ process_id, stdout, stderr }: Logs, bytes: number): Answer {
  const { out, err, left_out } = endsWithin(bytes - AROUND_BYTES, { stdout, stderr });
  return { process_id, stdout: partOf(stdout, out), stderr: partOf(stderr, err), left_out };
}

/** Returns the ends of both streams, together at most `bytes` of JSON, and what that leaves out. */
function endsWithin(bytes: number, { stdout, stderr }: Pick<Logs, 'stdout' | 'stderr'>) {
  const [one, other] = [stdout?.content ?? '', stderr?.content ?? ''];
  const shorter = Math.min(Math.floor(bytes / 2), jsonBytes(one), jsonBytes(other));
  const isOneShorter = jsonBytes(one) <= jsonBytes(other);
  const out = lastBytesAsJson(one, isOneShorter ? shorter : bytes - shorter);
  const err = lastBytesAsJson(other, isOneShorter ? bytes - shorter : shorter);
  const omitted = [
    ...omittedBefore('stdout', stdout, out),
    ...omittedBefore('stderr', stderr, err),
  ];
  return { out, err, left_out: omitted.length === 0 ? null : omitted };
}

function partOf(part: Logs['stdout'], content: string): Logs['stdout'] {
  if (!part) return part;
  const bytes = Buffer.byteLength(content);
  const offset = part.offset + part.bytes - bytes;
  return { ...part, content, bytes, offset, truncated: part.truncated || bytes < part.bytes };
}

/** Returns the number of bytes before the shown output, and the arguments that show the last of them. */
function omittedBefore(
  stream: 'stdout' | 'stderr',
  logs: Logs['stdout'],
  content: string,
): LeftOut[] {
  const part = partOf(logs, content);
  if (!part || part.offset === 0) return [];
  const next = { stream, before_byte: part.offset };
  return [{ what: `earlier bytes of ${stream}`, count: part.offset, next }];
}
