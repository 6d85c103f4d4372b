import path from 'node:path';
import type { z } from 'zod';
import { toolNamespaces } from '../api/tools.ts';
import type { ProcessService } from '../processes/service.ts';
import { workingDirectory } from '../sessions/working-directory.ts';
import type { Gatekeeper } from './gatekeeper.ts';
import { type Caller, type Toolkit, toolkit } from './toolkit.ts';

/** So many processes of a caller are shown at once. */
const SHOWN = 100;
/** So much of what a process printed comes with its end. */
const TAIL = { stream: 'both', tail_lines: 100, max_bytes: 16 * 1024 } as const;

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
      async cadre_process_status({ process_id }, caller) {
        const { id } = caller.session;
        const tool = 'cadre_process_status';
        await gatekeeper.passOne(caller, { tool, action: 'read' }, { process_id });
        if (process_id) return { process: await processes.get(process_id, id) };
        return { processes: (await processes.list({ session_id: id, limit: SHOWN })).records };
      },
      async cadre_process_logs({ process_id, stream, tail_lines, max_bytes }, caller) {
        const { id } = caller.session;
        const tool = 'cadre_process_logs';
        await gatekeeper.passOne(caller, { tool, action: 'read' }, { process_id });
        return processes.logs(process_id, {
          session_id: id,
          stream: stream ?? 'both',
          tail_lines: tail_lines ?? 200,
          max_bytes: max_bytes ?? 65_536,
        });
      },
      async cadre_process_kill({ process_id, reason }, caller) {
        const { id } = caller.session;
        const tool = 'cadre_process_kill';
        await gatekeeper.passOne(caller, { tool, action: 'kill' }, { process_id, reason });
        return { process: await processes.kill(process_id, id, reason ?? null) };
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
