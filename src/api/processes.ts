import { z } from 'zod';
import { failure, ownerQuery, pageQuery, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';

const processStatus = z.enum(['queued', 'running', 'completed', 'failed', 'timed_out', 'killed']);

export const processRecord = z
  .looseObject({
    process_id: z.string(),
    session_id: z.string().nullable().describe('Its owner; null: nobody but who has the token.'),
    command: z.string(),
    cwd: z.string(),
    status: processStatus.describe('completed: it exited with 0. The cause that came first wins.'),
    pid: z.int().nullable(),
    exit_code: z.int().nullable(),
    signal: z.string().nullable(),
    timeout_ms: z.int().describe('From its start; 0: none.'),
    kill_reason: z.string().nullable(),
    failure: failure
      .nullable()
      .describe(
        'start_failed: it could not be started. not_ended: its end is as its status says, but processes of another user are left of it.',
      ),
    stdout_bytes: z.int().describe('All it has printed, kept or not.'),
    stderr_bytes: z.int(),
    stdout_truncated: z.boolean().describe('Its middle was dropped.'),
    stderr_truncated: z.boolean(),
    on_exit: z.enum(['notify']).nullable(),
    notice: z
      .enum(['pending', 'delivered', 'dropped'])
      .nullable()
      .describe('What became of the turn that tells its owner of the end.'),
    queued_at: timestamp,
    started_at: timestamp.nullable(),
    ended_at: timestamp.nullable(),
    trimmed: z.boolean().describe('Retention took its events and what it printed.'),
  })
  .meta({ id: 'Process', description: 'A command that the server runs, or ran.' });
export type Process = z.output<typeof processRecord>;

/** A port, 1 to 65535. */
const PORT = '[1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5]';

export const processParam = { process_id: z.string().describe('The process.') };
const envelope = z.looseObject({ process: processRecord });

const logPart = z
  .looseObject({
    content: z.string(),
    offset: z.int().describe('Which byte of all that was printed the content begins with.'),
    bytes: z.int(),
    total_bytes: z.int().describe('All that was printed.'),
    truncated: z.boolean().describe('The content is not all that was printed.'),
  })
  .meta({ id: 'LogPart', description: 'The end of what a process printed to one stream.' })
  .nullable();

/** What is to be run, and whose it is. */
export const newProcess = z.strictObject({
  command: z.string().min(1).describe('A line of shell, or plain words where the shell is off.'),
  cwd: z.string().nullish().describe("Relative to the owner's directory, else to the server's."),
  timeout_ms: z
    .int()
    .min(0)
    .max(2_147_483_647)
    .nullish()
    .describe('Counted from its start; 0: none. Default: processes.default_timeout_ms.'),
  session_id: z.string().nullish(),
  on_exit: z
    .enum(['notify'])
    .nullish()
    .describe('notify: its end becomes a turn of its owner, once.'),
});

export const createProcess = endpoint({
  method: 'POST',
  path: '/v1/processes',
  summary: 'Run a command; it starts as soon as there is a place for it',
  body: newProcess,
  response: envelope,
  errors: ['not_found', 'session_closed', 'session_failed', 'too_many', 'storage_full'],
});

export const listProcesses = endpoint({
  method: 'GET',
  path: '/v1/processes',
  summary: 'List processes, newest first',
  query: {
    ...ownerQuery,
    status: processStatus.optional().describe('Only processes with this status.'),
    ...pageQuery,
  },
  response: z.array(processRecord),
  errors: ['not_found'],
});

export const getProcess = endpoint({
  method: 'GET',
  path: '/v1/processes/{process_id}',
  summary: 'Get a process',
  params: processParam,
  query: ownerQuery,
  response: processRecord,
  errors: ['not_found'],
});

export const getProcessLogs = endpoint({
  method: 'GET',
  path: '/v1/processes/{process_id}/logs',
  summary: 'Read the end of what a process printed',
  params: processParam,
  query: {
    ...ownerQuery,
    stream: z.enum(['stdout', 'stderr', 'both']).default('both').describe('What to read.'),
    tail_lines: z.int().min(0).max(10_000).default(200).describe('Of each stream.'),
    max_bytes: z
      .int()
      .min(1)
      .max(4 * 1024 * 1024)
      .default(65_536)
      .describe('Of each stream; keeps the end, and whole characters.'),
  },
  response: z
    .looseObject({ process_id: z.string(), stdout: logPart, stderr: logPart })
    .meta({ id: 'ProcessLogs', description: 'The end of what a process printed.' }),
  errors: ['not_found'],
});

export const streamProcessLogs = endpoint({
  method: 'GET',
  path: '/v1/processes/{process_id}/logs/stream',
  summary: 'Stream what a process prints: frames "log", at its end a frame "end"',
  answers: 'stream',
  params: processParam,
  query: {
    ...ownerQuery,
    stream: z.enum(['stdout', 'stderr']).default('stdout').describe('What to follow.'),
    from_byte: z
      .int()
      .min(0)
      .max(Number.MAX_SAFE_INTEGER)
      .optional()
      .describe('Where to begin; wins over Last-Event-ID, which is the byte after the last frame.'),
  },
  frames: { end: z.strictObject({}).describe('The process has ended, and this was all.') },
  response: z.looseObject({ offset: z.int(), text: z.string() }),
  errors: ['not_found', 'too_many'],
});

export const waitForProcess = endpoint({
  method: 'GET',
  path: '/v1/processes/{process_id}/wait',
  summary: 'Wait for the end of a process, a port that answers, or a text in its output',
  params: processParam,
  query: {
    ...ownerQuery,
    for: z
      .string()
      .regex(
        new RegExp(`^(exit|port:(${PORT})|log:[\\s\\S]{1,1000})$`),
        'is exit, port:N or log:TEXT',
      )
      .default('exit')
      .describe('What to wait for: exit, port:N on the loopback, or a text in a line of output.'),
    timeout_ms: z
      .int()
      .min(0)
      .max(60_000)
      .default(60_000)
      .describe('When to answer that it has not come.'),
  },
  response: z.looseObject({ process: processRecord, matched: z.boolean() }),
  errors: ['not_found'],
});

export const killReason = z.string().max(1000).nullish();

export const killProcess = endpoint({
  method: 'POST',
  path: '/v1/processes/{process_id}/kill',
  summary: 'End a process and all it started; one that has ended is given as it is',
  params: processParam,
  query: ownerQuery,
  body: z.strictObject({ reason: killReason }),
  response: envelope,
  errors: ['not_found'],
});

export const processDiagnostics = z
  .looseObject({
    queued: z.int(),
    running: z.int(),
    max_concurrent: z.int(),
    max_queued: z.int(),
    max_per_session: z.int(),
    max_queued_per_session: z.int(),
    ended: z.record(z.string(), z.int()),
  })
  .meta({ id: 'ProcessDiagnostics', description: 'Processes by what they do or did.' });
export type ProcessDiagnostics = z.output<typeof processDiagnostics>;

export const getProcessDiagnostics = endpoint({
  method: 'GET',
  path: '/v1/diagnostics/processes',
  summary: 'How many processes run and wait, and how many ended how since the start',
  response: processDiagnostics,
});
