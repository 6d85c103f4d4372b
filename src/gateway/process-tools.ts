import path from 'node:path';
import type { z } from 'zod';
import type { Process } from '../api/processes.ts';
import { toolNamespaces } from '../api/tools.ts';
import { lastBytesAsJson, jsonBytes } from '../lib/cut.ts';
import type { ProcessService } from '../processes/service.ts';
import { workingDirectory } from '../sessions/working-directory.ts';
import { ANSWER_BYTES, bounded, boundedPage, fitted, type LeftOut } from './bounded.ts';
import { ToolError } from './envelope.ts';
import type { Gatekeeper } from './gatekeeper.ts';
import { type Answer, type Caller, type Toolkit, toolkit } from './toolkit.ts';

/** So many processes of a caller are shown at once, where it names no other number. */
const SHOWN = 20;
/** So much of what a process printed is read to be shown with its end. */
const TAIL = { stream: 'both', tail_lines: 100, max_bytes: ANSWER_BYTES } as const;
/** What the record of a process may take of an answer that also shows what it printed. */
const RECORD_BYTES = 4096;
/** What an answer takes beside texts: the envelope, and notes on what was left out. */
const AROUND_BYTES = 1024;

/** The tools of processes, which belong to the session that calls. */
export function processToolkit({
  processes,
  gatekeeper,
}: {
  processes: ProcessService;
  gatekeeper: Gatekeeper;
}): Toolkit {
  return toolkit({
    namespace: 'cadre_process',
    descriptions: toolNamespaces.cadre_process,
    runs: {
      async cadre_process_run({ wait_ms, ...body }, caller) {
        const { id } = caller.session;
        await assertMayRun(body, caller);
        const process = await processes.run({ ...body, session_id: id });
        if (!wait_ms) return bounded({ process }, {});
        const { process_id } = process;
        const query = { for: 'exit', timeout_ms: wait_ms };
        const waited = await processes.wait(process_id, query, caller.gone);
        const logs = await processes.logs(process_id, TAIL);
        return withTails(waited.process, logs);
      },
      async cadre_process_status({ process_id, limit, cursor, max_bytes }, caller) {
        const { id } = caller.session;
        const tool = 'cadre_process_status';
        await gatekeeper.passOne(caller, { tool, action: 'read' }, { process_id });
        const bytes = max_bytes ?? ANSWER_BYTES;
        if (process_id) return bounded({ process: await processes.get(process_id, id) }, {}, bytes);
        const from = { session_id: id, cursor: cursor ?? undefined };
        const read = (count: number) => processes.list({ ...from, limit: count });
        return boundedPage('processes', read, limit ?? SHOWN, bytes);
      },
      async cadre_process_logs(args, caller) {
        const { id } = caller.session;
        const { process_id, stream, tail_lines, max_bytes, before_byte } = args;
        if (typeof before_byte === 'number' && stream !== 'stdout' && stream !== 'stderr')
          throw new ToolError(
            'bad_request',
            'args.stream: is needed with before_byte, to say which stream it counts in',
          );
        const tool = 'cadre_process_logs';
        await gatekeeper.passOne(caller, { tool, action: 'read' }, { process_id });
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
        const { id } = caller.session;
        const tool = 'cadre_process_kill';
        await gatekeeper.passOne(caller, { tool, action: 'kill' }, { process_id, reason });
        const process = await processes.kill(process_id, id, reason ?? null);
        return bounded({ process }, {});
      },
    },
  });

  /** A process runs outside of the agent's sandbox. What is shown is all that is run. */
  async function assertMayRun(body: Omit<RunArgs, 'wait_ms'>, caller: Caller): Promise<void> {
    const cwd = workingDirectory(path.resolve(caller.session.cwd, body.cwd ?? '.'));
    await gatekeeper.pass(caller, [{ tool: 'cadre_process_run', action: 'run' }], () => ({
      kind: 'command',
      title: body.command,
      request: { ...body, cwd },
    }));
  }
}

type RunArgs = z.output<(typeof toolNamespaces.cadre_process.cadre_process_run)['args']>;

type Logs = Awaited<ReturnType<ProcessService['logs']>>;

/** A process with the end of what it printed; of two streams each may fill what the other leaves. */
function withTails(process: Process, { process_id, stdout, stderr }: Logs): Answer {
  const record = fitted(process, RECORD_BYTES);
  const room = ANSWER_BYTES - AROUND_BYTES - jsonBytes(record);
  const [out, err] = endsWithin(room, stdout?.content ?? '', stderr?.content ?? '');
  const left_out = [...leftOf('stdout', stdout, out), ...leftOf('stderr', stderr, err)].map(
    ({ next, ...left }) => ({ ...left, next: { tool: 'cadre_process_logs', process_id, ...next } }),
  );
  return {
    process: record,
    stdout_tail: out,
    stderr_tail: err,
    left_out: left_out.length === 0 ? null : left_out,
  };
}

/** What a process printed, its newest at the end, as much as fits. */
function printed({ process_id, stdout, stderr }: Logs, bytes: number): Answer {
  const [out, err] = endsWithin(bytes - AROUND_BYTES, stdout?.content ?? '', stderr?.content ?? '');
  const left_out = [...leftOf('stdout', stdout, out), ...leftOf('stderr', stderr, err)];
  return {
    process_id,
    stdout: partOf(stdout, out),
    stderr: partOf(stderr, err),
    left_out: left_out.length === 0 ? null : left_out,
  };
}

/** The ends of two texts that together are at most so many bytes of JSON. */
function endsWithin(bytes: number, one: string, other: string): [string, string] {
  const half = Math.floor(bytes / 2);
  const shorter = Math.min(half, jsonBytes(one), jsonBytes(other));
  const room = bytes - shorter;
  const ends = jsonBytes(one) <= jsonBytes(other) ? [shorter, room] : [room, shorter];
  return [lastBytesAsJson(one, ends[0] ?? 0), lastBytesAsJson(other, ends[1] ?? 0)];
}

function partOf(part: Logs['stdout'], content: string): Logs['stdout'] {
  if (!part) return part;
  const bytes = Buffer.byteLength(content);
  const offset = part.offset + part.bytes - bytes;
  return { ...part, content, bytes, offset, truncated: part.truncated || bytes < part.bytes };
}

/** What was printed before that: how many bytes, and how to see the end of them. */
function leftOf(stream: 'stdout' | 'stderr', given: Logs['stdout'], content: string): LeftOut[] {
  const part = partOf(given, content);
  if (!part || part.offset === 0) return [];
  const next = { stream, before_byte: part.offset };
  return [{ what: `bytes of ${stream} before`, count: part.offset, next }];
}
