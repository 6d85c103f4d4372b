import { z } from 'zod';
import { processRecord } from '../processes.ts';
import { describeKinds } from './kind.ts';

const kind = describeKinds('process');

/** A process as events contain it after it was queued. */
const processInEvents = processRecord.omit({ command: true }).meta({
  id: 'ProcessInEvents',
  description: 'Record of a process that has changed, without `command`.',
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

export const processKinds = {
  'process.queued': kind({
    when: 'Emitted when a requested process is stored. The process starts as soon as the limits allow the start.',
    payload: { process: processRecord },
    example: { process: { ...queued, command: 'npm test' } },
  }),
  'process.started': kind({
    when: 'Emitted when a process has started.',
    payload: { process: processInEvents },
    example: { process: running },
  }),
  'process.output': kind({
    when: 'Emitted when a process prints output. One event reports all output within 100 ms. After 256 KiB of text, the events contain only the position of the output, at most twice per second.',
    payload: {
      stream: z.enum(['stdout', 'stderr']),
      offset: z.int().describe('Position in the stream of the reported output, in bytes.'),
      bytes: z.int().describe('Size of the reported output in bytes.'),
      text: z.string().meta({
        description:
          'Start of the reported output, at most 4 KiB. The logs of the process contain all of it.',
      }),
    },
    part: 'delta',
    example: { stream: 'stdout', offset: 0, bytes: 9, text: '1 passed\n' },
  }),
  'process.kill_requested': kind({
    when: 'Emitted when a request to kill a process arrives.',
    payload: { process: processInEvents },
    example: { process: running },
  }),
  'process.completed': kind({
    when: 'Emitted when a process exits with code 0.',
    payload: { process: processInEvents },
    part: 'end',
    example: { process: { ...ended, status: 'completed', exit_code: 0 } },
  }),
  'process.failed': kind({
    when: 'Emitted when a process exits with another code, cannot be started, or was running when the server died.',
    payload: { process: processInEvents },
    part: 'end',
    example: { process: { ...ended, status: 'failed', exit_code: 1 } },
  }),
  'process.timed_out': kind({
    when: 'Emitted when a process was killed because its `timeout_ms` had passed.',
    payload: { process: processInEvents },
    part: 'end',
    example: { process: { ...ended, status: 'timed_out', signal: 'SIGTERM' } },
  }),
  'process.killed': kind({
    when: 'Emitted when a process was killed by a request, with its session, or because the server stopped.',
    payload: { process: processInEvents },
    part: 'end',
    example: {
      process: { ...ended, status: 'killed', signal: 'SIGTERM', kill_reason: 'not needed' },
    },
  }),
};

const kindOfSession = describeKinds('session');

export const sandboxKinds = {
  'sandbox.host_refused': kindOfSession({
    when: 'Emitted when the sandbox of a session refuses a connection to a host. Within one minute, one event reports all connections to the same host and port. An event during a turn contains the id of the turn.',
    payload: {
      host: z.string(),
      port: z.int(),
      reason: z.enum(['not_allowed', 'private_address']).meta({
        description:
          '`not_allowed`: no list contains the host, and no person has allowed it. `private_address`: the address belongs to the machine or to a private network.',
      }),
      message: z.string().describe('Text of the refusal, for users to read.'),
    },
    example: {
      host: 'registry.npmjs.org',
      port: 443,
      reason: 'not_allowed',
      message: 'the sandbox does not reach registry.npmjs.org:443: add the host to sandbox.hosts',
    },
  }),
};
