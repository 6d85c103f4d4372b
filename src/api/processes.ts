import { z } from 'zod';
import { failure, ownerQuery, pageQuery, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';

const processStatus = z.enum(['queued', 'running', 'completed', 'failed', 'timed_out', 'killed']);

const processStdin = z
  .enum(['none', 'pipe'])
  .describe(
    'none: it reads the end of its input at once. pipe: it reads what is sent to its stdin, and waits for that.',
  );

export const processRecord = z
  .looseObject({
    process_id: z.string(),
    session_id: z
      .string()
      .nullable()
      .describe('The session that owns it; null if it belongs to no session.'),
    caller_id: z
      .string()
      .nullable()
      .describe('The external caller that owns it, by the id of its token; null if none does.'),
    command: z.string(),
    cwd: z.string(),
    status: processStatus.describe(
      'completed: it exited with code 0. If it was killed, timed out and exited at about the same time, the first of these decides.',
    ),
    pid: z.int().nullable(),
    exit_code: z.int().nullable(),
    signal: z.string().nullable(),
    stdin: processStdin,
    timeout_ms: z.int().describe('The time limit, counted from its start; 0: none.'),
    kill_reason: z.string().nullable(),
    failure: failure
      .nullable()
      .describe(
        'start_failed: it could not be started. not_ended: it has ended as its status says, but processes of another user that it started still run.',
      ),
    stdout_bytes: z.int().describe('How much it has printed, including what was dropped.'),
    stderr_bytes: z.int(),
    stdout_truncated: z.boolean().describe('Whether the middle of the output was dropped.'),
    stderr_truncated: z.boolean(),
    on_exit: z.enum(['notify']).nullable(),
    notice: z
      .enum(['pending', 'delivered', 'dropped'])
      .nullable()
      .describe('The state of the turn that notifies the owner of the end.'),
    queued_at: timestamp,
    started_at: timestamp.nullable(),
    ended_at: timestamp.nullable(),
    trimmed: z.boolean().describe('Whether retention has deleted its events and its output.'),
  })
  .meta({ id: 'Process', description: 'A command that the server runs, or ran.' });
export type Process = z.output<typeof processRecord>;

/** A regular expression for a port, 1 to 65535. */
const PORT = '[1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5]';

export const processParam = { process_id: z.string().describe('The process.') };
const envelope = z.looseObject({ process: processRecord });

const logPart = z
  .looseObject({
    content: z.string(),
    offset: z.int().describe('The position of the first byte of the content in the whole output.'),
    bytes: z.int(),
    total_bytes: z.int().describe('The size of the whole output.'),
    truncated: z.boolean().describe('Whether the content is less than the whole output.'),
  })
  .meta({ id: 'LogPart', description: 'The end of the output of a process on one stream.' })
  .nullable();

/** The body of a request to run a command. */
export const newProcess = z.strictObject({
  command: z
    .string()
    .min(1)
    .describe('A line of shell; if the shell is disabled, a program and its arguments.'),
  cwd: z
    .string()
    .nullish()
    .describe(
      "The working directory, relative to that of the owner; without an owner, to the server's.",
    ),
  timeout_ms: z
    .int()
    .min(0)
    .max(2_147_483_647)
    .nullish()
    .describe(
      'The time limit, counted from its start; 0: none. Default: processes.default_timeout_ms.',
    ),
  session_id: z.string().nullish(),
  stdin: processStdin.nullish().describe('Default: none.'),
  on_exit: z
    .enum(['notify'])
    .nullish()
    .describe('notify: when it has ended, its owner gets one turn that reports it.'),
});

export const createProcess = endpoint({
  method: 'POST',
  path: '/v1/processes',
  summary: 'Run a command; it is queued until the number of running processes allows it to start',
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
  summary: 'Read the end of the output of a process',
  params: processParam,
  query: {
    ...ownerQuery,
    stream: z.enum(['stdout', 'stderr', 'both']).default('both').describe('The stream to read.'),
    tail_lines: z
      .int()
      .min(0)
      .max(10_000)
      .default(200)
      .describe('The maximum number of lines of each stream.'),
    max_bytes: z
      .int()
      .min(1)
      .max(4 * 1024 * 1024)
      .default(65_536)
      .describe(
        'The maximum number of bytes of each stream: the last ones, cut between characters.',
      ),
    from_byte: z
      .int()
      .min(0)
      .max(Number.MAX_SAFE_INTEGER)
      .optional()
      .describe(
        'Read on from this position instead of the end: the next output in whole characters, at most max_bytes of it, and no more than is there. The stream has to be named; tail_lines does not count.',
      ),
  },
  response: z
    .looseObject({ process_id: z.string(), stdout: logPart, stderr: logPart })
    .meta({ id: 'ProcessLogs', description: 'The end of the output of a process.' }),
  errors: ['not_found'],
});

export const streamProcessLogs = endpoint({
  method: 'GET',
  path: '/v1/processes/{process_id}/logs/stream',
  summary: 'Stream the output of a process as frames "log", and a frame "end" after its end',
  answers: 'stream',
  params: processParam,
  query: {
    ...ownerQuery,
    stream: z.enum(['stdout', 'stderr']).default('stdout').describe('The stream to follow.'),
    from_byte: z
      .int()
      .min(0)
      .max(Number.MAX_SAFE_INTEGER)
      .optional()
      .describe(
        'The position to begin at. It takes precedence over Last-Event-ID, which is the position after the last frame.',
      ),
  },
  frames: {
    end: z.strictObject({}).describe('The process has ended, and its whole output was sent.'),
  },
  response: z.looseObject({ offset: z.int(), text: z.string() }),
  errors: ['not_found', 'too_many'],
});

export const waitForProcess = endpoint({
  method: 'GET',
  path: '/v1/processes/{process_id}/wait',
  summary:
    'Wait for the end of a process, for a port that accepts connections, or for a text in its output',
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
      .describe('After this time the response says `matched: false`.'),
  },
  response: z.looseObject({ process: processRecord, matched: z.boolean() }),
  errors: ['not_found'],
});

export const killReason = z.string().max(1000).nullish();

export const killProcess = endpoint({
  method: 'POST',
  path: '/v1/processes/{process_id}/kill',
  summary:
    'End a process and all processes that it started; one that has ended is returned unchanged',
  params: processParam,
  query: ownerQuery,
  body: z.strictObject({ reason: killReason }),
  response: envelope,
  errors: ['not_found'],
});

export const restartProcess = endpoint({
  method: 'POST',
  path: '/v1/processes/{process_id}/restart',
  summary:
    'Run the command of a process again, as a new process; one that still runs is ended first, with kill_reason "restarted"',
  params: processParam,
  query: ownerQuery,
  body: z.strictObject({}),
  response: z.looseObject({
    process: processRecord.describe(
      'The new process: with the command, directory, owner, time limit, on_exit and stdin of the old one. It is queued until the old one has ended.',
    ),
  }),
  errors: ['not_found', 'session_closed', 'session_failed', 'too_many', 'storage_full'],
});

export const writeToProcess = endpoint({
  method: 'POST',
  path: '/v1/processes/{process_id}/stdin',
  summary: 'Send input to a process that was created with stdin "pipe"',
  params: processParam,
  query: ownerQuery,
  body: z.strictObject({
    data: z
      .string()
      .max(131_072)
      .nullish()
      .describe(
        'What it is to read. The response comes once that was passed on or, up to 64 KiB, is held for it; so whoever sends the next part after the response of the one before sends as fast as the process reads. It is refused if 1 MiB waits already.',
      ),
    encoding: z
      .enum(['utf8', 'base64'])
      .nullish()
      .describe('How data is written; base64 is for bytes that are no text. Default: utf8.'),
    eof: z
      .boolean()
      .nullish()
      .describe('true: it then reads the end of its input, and nothing more can be sent.'),
  }),
  // JSON may need six bytes for a character.
  bodyLimit: 1024 * 1024,
  response: z.looseObject({
    process_id: z.string(),
    bytes: z.int().describe('The number of bytes that were sent.'),
  }),
  errors: ['not_found', 'conflict', 'too_many'],
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
  .meta({
    id: 'ProcessDiagnostics',
    description:
      'How many processes run and wait, their limits, and how many have ended, by status.',
  });
export type ProcessDiagnostics = z.output<typeof processDiagnostics>;

export const getProcessDiagnostics = endpoint({
  method: 'GET',
  path: '/v1/diagnostics/processes',
  summary: 'How many processes run and wait, and how many have ended since the start, by status',
  response: processDiagnostics,
});
