import path from 'node:path';
import { toolNamespaces } from '../api/tools.ts';
import type { ProcessService } from '../processes/service.ts';
import type { SessionService } from '../sessions/service.ts';
import { ToolError } from './envelope.ts';
import { type Caller, type Toolkit, toolkit } from './toolkit.ts';

/** So many processes of a caller are shown at once. */
const SHOWN = 100;
/** So much of what a process printed comes with its end. */
const TAIL = { stream: 'both', tail_lines: 100, max_bytes: 16 * 1024 } as const;

/** The tools of processes, which belong to the session that calls. */
export function processToolkit({
  processes,
  sessions,
}: {
  processes: ProcessService;
  sessions: SessionService;
}): Toolkit {
  return toolkit({
    namespace: 'cadre_process',
    descriptions: toolNamespaces.cadre_process,
    runs: {
      async cadre_process_run({ wait_ms, ...body }, caller) {
        const { id } = caller.session;
        await assertMayRun(body, caller);
        const process = await processes.run({ ...body, session_id: id });
        if (!wait_ms) return { process };
        const { process_id } = process;
        const query = { for: 'exit', timeout_ms: wait_ms };
        const waited = await processes.wait(process_id, query, caller.gone);
        const { stdout, stderr } = await processes.logs(process_id, TAIL);
        return {
          process: waited.process,
          stdout_tail: stdout?.content ?? '',
          stderr_tail: stderr?.content ?? '',
        };
      },
      async cadre_process_status({ process_id }, { session: { id } }) {
        if (process_id) return { process: await processes.get(process_id, id) };
        return { processes: (await processes.list({ session_id: id, limit: SHOWN })).records };
      },
      cadre_process_logs({ process_id, stream, tail_lines, max_bytes }, { session: { id } }) {
        return processes.logs(process_id, {
          session_id: id,
          stream: stream ?? 'both',
          tail_lines: tail_lines ?? 200,
          max_bytes: max_bytes ?? 65_536,
        });
      },
      async cadre_process_kill({ process_id, reason }, { session: { id } }) {
        return { process: await processes.kill(process_id, id, reason ?? null) };
      },
    },
  });

  /** A process runs outside the agent's sandbox, so what the agent may do by itself says nothing about it. */
  async function assertMayRun(
    body: { command: string; cwd?: string | null | undefined },
    { session, gone }: Caller,
  ): Promise<void> {
    const mode = await sessions.permissionMode(session.id);
    if (mode === 'read_only')
      throw new ToolError(
        'unauthorized',
        'this session is read_only: it may run no process; ask for another permission_mode',
      );
    if (runsFreely(mode)) return;
    const cwd = path.resolve(session.cwd, body.cwd ?? '.');
    const tool = 'cadre_process_run';
    const answer = await sessions.ask(
      session.id,
      {
        kind: 'command',
        title: body.command,
        request: { tool, ...body },
        subject: { tool, command: body.command, cwd },
      },
      gone,
    );
    if (answer.decision === 'accept') return;
    const why =
      answer.decision === 'decline'
        ? (answer.reason ?? 'declined')
        : 'its session is at no turn that could ask for it';
    throw new ToolError('unauthorized', `the command was not allowed: ${why}`);
  }
}

/** Where nobody is asked for anything; in modes of an agent's own somebody is. */
function runsFreely(mode: string | null): boolean {
  return [null, 'default', 'full_access', 'bypass'].includes(mode);
}
