import { z } from 'zod';
import {
  component,
  failure,
  flag,
  integer,
  nullableInteger,
  nullableText,
  optionalText,
  ownerQuery,
  pageQuery,
  text,
  timestamp,
} from './common.ts';
import { endpoint } from './endpoint.ts';

const position = z.int().min(0).max(Number.MAX_SAFE_INTEGER).optional();

const processStatus = z.enum(['queued', 'running', 'completed', 'failed', 'timed_out', 'killed']);

const processStdin = z.enum(['none', 'pipe']).meta({
  description:
    'Standard input of the process. `none`: the input is empty. `pipe`: the process reads the input that clients send, and waits for more input.',
});

const portList = z.array(z.int().min(1).max(65_535)).max(20);

export const processRecord = component('Process', 'A command that the server runs or ran.', {
  process_id: z.string(),
  session_id: nullableText('Session that owns the process. Null if it belongs to no session.'),
  caller_id: nullableText(
    'Token id of the external caller that owns the process. Null if no external caller owns the process.',
  ),
  command: text('Command as it was requested.'),
  cwd: text('Working directory, as an absolute path.'),
  status: processStatus.describe(
    'Status of the process. `completed`: the process exited with code 0. If a kill, the timeout and the exit of the process happen at about the same time, the first of them determines the status.',
  ),
  pid: nullableInteger('Process id of the operating system. Null before the start.'),
  exit_code: nullableInteger('Exit code. Null if the process has not exited or a signal ended it.'),
  signal: nullableText(
    'Signal that ended the process, such as SIGKILL. Null if no signal ended it.',
  ),
  stdin: processStdin,
  outlive: flag(
    'Whether the process continues without a server, for `server.reattach_ms`. Absent in older servers.',
  ).optional(),
  timeout_ms: z.int().meta({
    description:
      'Time limit in milliseconds, counted from the start of the process. 0 if there is none.',
  }),
  kill_requested_at: timestamp
    .nullable()
    .describe('Time of the first request to kill the process. Absent in older servers.')
    .optional(),
  kill_reason: nullableText(
    'Reason of the kill request. Null if there is none, or if the process exited before.',
  ),
  failure: failure.nullable().meta({
    description:
      'Reason for a failure. `start_failed`: the process could not be started. `not_ended`: it ended as its status says, but processes of another user that it started are still running. Null if there is none.',
  }),
  stdout_bytes: z.int().describe('Size of the output in bytes, including dropped output.'),
  stderr_bytes: integer('Size of the error output in bytes, including dropped output.'),
  stdout_truncated: flag('Whether the middle of the output was dropped.'),
  stderr_truncated: flag('Whether the middle of the error output was dropped.'),
  on_exit: z.enum(['notify']).nullable().meta({
    description:
      '`notify`: when the process ends, its owner receives one turn that reports it. Null otherwise.',
  }),
  notice: z.enum(['pending', 'delivered', 'dropped']).nullable().meta({
    description:
      'State of the turn that notifies the owner that the process has ended. Null without such a turn.',
  }),
  queued_at: timestamp,
  started_at: timestamp.nullable(),
  ended_at: timestamp.nullable(),
  ports: portList
    .describe('Ports of its sandbox that the server publishes. Absent in older servers.')
    .optional(),
  sandbox: flag(
    'Whether the process runs or ran in a sandbox. Absent in older servers.',
  ).optional(),
  trimmed: flag('Whether retention has deleted the events and output of the process.'),
});
export type Process = z.output<typeof processRecord>;

/** A regular expression for a port number from 1 to 65535. */
const PORT = '[1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5]';

export const processParam = { process_id: z.string().describe('Process id.') };
const envelope = z.looseObject({ process: processRecord });

const logPart = component('LogPart', 'The end of one output stream of a process.', {
  content: text('Text of the output. Bytes that are not UTF-8 are replaced.'),
  offset: z.int().describe('Position of the first byte of the content in the whole output.'),
  bytes: integer('Size of the content in the output, in bytes.'),
  total_bytes: z.int().describe('Size of the whole output in bytes.'),
  truncated: flag('Whether the content is only a part of the output.'),
  verified: flag(
    'Whether the content was verified by its checksums. False while the process runs, for output that an earlier version stored, and if the server was killed before it had stored the checksums.',
  ),
}).nullable();

/** The body of a request that runs a command. */
export const newProcess = z.strictObject({
  command: z.string().min(1).meta({
    description: 'Shell command line. If the shell is disabled: a program with its arguments.',
  }),
  cwd: optionalText(
    'Working directory, relative to the directory of the owner, or of the server for a process without an owner.',
  ),
  timeout_ms: z.int().min(0).max(2_147_483_647).nullish().meta({
    description:
      'Time limit in milliseconds, counted from the start of the process. 0: no limit. Default: `processes.default_timeout_ms`.',
  }),
  session_id: optionalText('Session that owns the process. Default: no session.'),
  stdin: processStdin.nullish().describe('Standard input of the process. Default: `none`.'),
  outlive: z.boolean().nullish().meta({
    description:
      'Whether the process continues if the server ends without stopping it, and the next server takes the process over. It requires `server.reattach_ms`, and no input. Default: false.',
  }),
  ports: portList.nullish().meta({
    description:
      'Ports that programs outside of the sandbox of the process reach at 127.0.0.1 until the process ends. They have no effect for a process with the network of the machine.',
  }),
  on_exit: z.enum(['notify']).nullish().meta({
    description: '`notify`: when the process ends, its owner receives one turn that reports it.',
  }),
});

export const createProcess = endpoint('POST /v1/processes', {
  summary: 'Run a command; it is queued while the maximum number of processes is running',
  body: newProcess,
  response: envelope,
  errors: [
    'not_found',
    'conflict',
    'session_closed',
    'session_failed',
    'too_many',
    'sandbox_unavailable',
    'storage_full',
  ],
});

export const listProcesses = endpoint('GET /v1/processes', {
  summary: 'List processes, newest first',
  query: {
    ...ownerQuery,
    status: processStatus.optional().describe('Return only processes with this status.'),
    ...pageQuery,
  },
  response: z.array(processRecord),
  errors: ['not_found'],
});

export const getProcess = endpoint('GET /v1/processes/{process_id}', {
  summary: 'Get a process',
  params: processParam,
  query: ownerQuery,
  response: processRecord,
});

export const getProcessLogs = endpoint('GET /v1/processes/{process_id}/logs', {
  summary: 'Get the end of the output of a process',
  params: processParam,
  query: {
    ...ownerQuery,
    stream: z.enum(['stdout', 'stderr', 'both']).default('both').describe('Stream to read.'),
    tail_lines: z.int().min(0).max(10_000).default(200).meta({
      description: 'Maximum number of lines per stream.',
    }),
    max_bytes: z
      .int()
      .min(1)
      .max(4 * 1024 * 1024)
      .default(65_536)
      .meta({
        description:
          'Maximum number of bytes per stream, counted from the end. Characters are never cut.',
      }),
    from_byte: position.describe(
      'Position to read from instead of the end, in bytes. Returns the available output after it, at most max_bytes in whole characters. Requires `stream` to name one stream. tail_lines is ignored.',
    ),
  },
  response: component('ProcessLogs', 'The end of the output of a process.', {
    process_id: z.string(),
    stdout: logPart,
    stderr: logPart,
  }),
});

export const streamProcessLogs = endpoint('GET /v1/processes/{process_id}/logs/stream', {
  summary:
    'Stream the output of a process as `log` frames, followed by an `end` frame when the process has ended',
  answers: 'stream',
  params: processParam,
  query: {
    ...ownerQuery,
    stream: z.enum(['stdout', 'stderr']).default('stdout').describe('Stream to follow.'),
    from_byte: position.describe(
      'Position to start at, in bytes. Takes precedence over Last-Event-ID, which is the position after the last frame.',
    ),
  },
  frames: {
    end: z.strictObject({}).describe('The process has ended and its whole output was sent.'),
  },
  response: z.looseObject({
    offset: integer('Position of the first byte of the text in the whole output.'),
    text: text('Next part of the output.'),
  }),
  errors: ['too_many'],
});

export const waitForProcess = endpoint('GET /v1/processes/{process_id}/wait', {
  summary: 'Wait until a process ends, a port accepts connections, or a text appears in its output',
  params: processParam,
  query: {
    ...ownerQuery,
    for: z
      .string()
      .regex(
        new RegExp(`^(exit|port:(${PORT})|log:[\\s\\S]{1,1000})$`),
        'must be exit, port:N or log:TEXT',
      )
      .default('exit')
      .describe(
        'Condition to wait for: `exit`, `port:N` on the loopback interface of the process, or `log:TEXT` for a text in a line of output.',
      ),
    timeout_ms: z.int().min(0).max(60_000).default(60_000).meta({
      description:
        'Maximum time to wait, in milliseconds. After it, the response has `matched: false`.',
    }),
  },
  response: z.looseObject({
    process: processRecord,
    matched: flag('Whether the condition was met within the time.'),
  }),
});

export const killReason = z
  .string()
  .max(1000)
  .nullish()
  .describe('Reason, which is stored as kill_reason.');

export const killProcess = endpoint('POST /v1/processes/{process_id}/kill', {
  summary:
    'Kill a process and all processes that it started; a process that has ended is returned unchanged',
  params: processParam,
  query: ownerQuery,
  body: z.strictObject({ reason: killReason }),
  response: envelope,
});

export const restartProcess = endpoint('POST /v1/processes/{process_id}/restart', {
  summary:
    'Run the command of a process again as a new process; a running process is killed first, with kill_reason "restarted"',
  params: processParam,
  query: ownerQuery,
  body: z.strictObject({}),
  response: z.looseObject({
    process: processRecord.describe(
      'New process, with the command, directory, owner, time limit, ports, on_exit, stdin and outlive of the old one. It is queued until the old process has ended.',
    ),
  }),
  errors: [
    'conflict',
    'session_closed',
    'session_failed',
    'too_many',
    'sandbox_unavailable',
    'storage_full',
  ],
});

export const writeToProcess = endpoint('POST /v1/processes/{process_id}/stdin', {
  summary: 'Send input to a process that was created with stdin "pipe"',
  params: processParam,
  query: ownerQuery,
  body: z.strictObject({
    data: z.string().max(131_072).nullish().meta({
      description:
        'Input for the process. The server responds when the input was passed on or is buffered. At most about 192 KiB that the process has not read are buffered, including the pipe of the process. A client that sends the next part after each response therefore keeps the pace of the process. The request is refused if 1 MiB is already waiting.',
    }),
    encoding: z.enum(['utf8', 'base64']).nullish().meta({
      description: 'Encoding of `data`. Use base64 for bytes that are not text. Default: `utf8`.',
    }),
    eof: z.boolean().nullish().meta({
      description:
        'Whether to close the standard input of the process after `data`. No input can be sent afterwards.',
    }),
  }),
  // JSON may need six bytes for a character.
  bodyLimit: 1024 * 1024,
  response: z.looseObject({
    process_id: z.string(),
    bytes: z.int().describe('Number of bytes that were sent.'),
  }),
  errors: ['conflict', 'too_many'],
});

export const processDiagnostics = component(
  'ProcessDiagnostics',
  'Numbers of running, queued and ended processes, and their limits.',
  {
    queued: integer('Number of queued processes.'),
    running: integer('Number of running processes.'),
    max_concurrent: integer('Maximum number of running processes.'),
    max_queued: integer('Maximum number of queued processes.'),
    max_per_session: integer('Maximum number of running processes of a session.'),
    max_queued_per_session: integer('Maximum number of queued processes of a session.'),
    ended: z.record(z.string(), z.int()).meta({
      description: 'Number of processes that have ended since the start of the server, by status.',
    }),
  },
);
export type ProcessDiagnostics = z.output<typeof processDiagnostics>;

export const getProcessDiagnostics = endpoint('GET /v1/diagnostics/processes', {
  summary:
    'Get the number of running and queued processes, and of ended ones since the start of the server, by status',
  response: processDiagnostics,
});
