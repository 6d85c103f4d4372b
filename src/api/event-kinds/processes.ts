import { z } from 'zod';
import { processRecord } from '../processes.ts';
import { describeKinds } from './kind.ts';

const kind = describeKinds('process');

/** A process as events carry it after it was queued. */
const processInEvents = processRecord.omit({ command: true }).meta({
  id: 'ProcessInEvents',
  description: 'A process that has changed, without `command`.',
});
export type ProcessInEvents = z.output<typeof processInEvents>;

const queued = {
  process_id: 'proc_019aa8d30a447b1eb0de6c2f5a9e8d01',
  session_id: 'sess_019aa8d25b1c7c079a542f6d0c1b7e11',
  caller_id: null,
  cwd: '/home/ada/project',
  status: 'queued' as const,
  pid: null,
  exit_code: null,
  signal: null,
  stdin: 'none' as const,
  timeout_ms: 600000,
  kill_reason: null,
  failure: null,
  stdout_bytes: 0,
  stderr_bytes: 0,
  stdout_truncated: false,
  stderr_truncated: false,
  on_exit: null,
  notice: null,
  queued_at: 1795312005000,
  started_at: null,
  ended_at: null,
  trimmed: false,
};
const running = { ...queued, status: 'running' as const, pid: 41872, started_at: 1795312005020 };
const ended = { ...running, stdout_bytes: 9, ended_at: 1795312006000 };

/** Processes. */
export const processKinds = {
  'process.queued': kind({
    when: 'A process was asked for and stored. It starts as soon as there is a place for it.',
    payload: { process: processRecord },
    example: { process: { ...queued, command: 'npm test' } },
  }),
  'process.started': kind({
    when: 'A process runs.',
    payload: { process: processInEvents },
    example: { process: running },
  }),
  'process.output': kind({
    when:
      'A process has printed something. What it prints within 100 ms is told at once; after 256 KiB of text the ' +
      'events say where its output is, without the text, and at most twice a second.',
    payload: {
      stream: z.enum(['stdout', 'stderr']),
      offset: z.int().describe('Where in the stream the output begins that the event tells of.'),
      bytes: z.int().describe('How many bytes of output the event tells of.'),
      text: z
        .string()
        .describe('The beginning of it, at most 4 KiB; the whole is in the logs of the process.'),
    },
    part: 'delta',
    example: { stream: 'stdout', offset: 0, bytes: 9, text: '1 passed\n' },
  }),
  'process.kill_requested': kind({
    when: 'Somebody asked for a process to end.',
    payload: { process: processInEvents },
    example: { process: running },
  }),
  'process.completed': kind({
    when: 'A process exited with 0.',
    payload: { process: processInEvents },
    part: 'end',
    example: { process: { ...ended, status: 'completed', exit_code: 0 } },
  }),
  'process.failed': kind({
    when: 'A process exited with something else, could not be started, or ran when the server died.',
    payload: { process: processInEvents },
    part: 'end',
    example: { process: { ...ended, status: 'failed', exit_code: 1 } },
  }),
  'process.timed_out': kind({
    when: 'A process was ended because its `timeout_ms` was over.',
    payload: { process: processInEvents },
    part: 'end',
    example: { process: { ...ended, status: 'timed_out', signal: 'SIGTERM' } },
  }),
  'process.killed': kind({
    when: 'A process was ended because somebody asked for it, its session was closed, or the server stopped.',
    payload: { process: processInEvents },
    part: 'end',
    example: {
      process: { ...ended, status: 'killed', signal: 'SIGTERM', kill_reason: 'not needed' },
    },
  }),
};
