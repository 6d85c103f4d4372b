import { streamLogs } from '../../client/log-stream.ts';
import { jsonFor, type CommandContext } from './command-io.ts';
import type { Process } from '../../api/processes.ts';
import { plain } from './output.ts';

/** The two outputs of a process. */
export const outputs = ['stdout', 'stderr'] as const;
export type Output = (typeof outputs)[number];

/**
 * Copies what a process prints to the same outputs of this one, until it has ended or `signal` aborts: of each output
 * that is named, from that byte on.
 */
export async function followOutput(
  { io, client, global }: CommandContext,
  processId: string,
  signal: AbortSignal,
  wanted: Partial<Record<Output, number>> = { stdout: 0, stderr: 0 },
): Promise<void> {
  const show = async (stream: Output) => {
    const from = wanted[stream];
    if (from === undefined) return;
    const source = { client, clock: io.clock, processId, stream, signal, from };
    for await (const text of streamLogs(source))
      if (global.json) io.stdout.write(`${jsonFor(io, { stream, text })}\n`);
      else io[stream].write(textForStream(io[stream], text));
  };
  await Promise.all(outputs.map(show));
}

/** Output of a process as it is written: a terminal gets no control sequences, a pipe gets the text unchanged. */
export function textForStream({ isTTY }: { isTTY?: boolean }, text: string): string {
  return isTTY ? plain(text) : text;
}

/** The status of a process and how it ended, on one line: `failed: exit code 2`. */
export function statusText({ status, exit_code, signal, failure, kill_reason }: Process): string {
  const more = [
    exit_code === null ? null : `exit code ${exit_code}`,
    signal,
    failure && plain(failure.message),
    kill_reason && plain(kill_reason),
  ].filter(Boolean);
  return more.length > 0 ? `${status}: ${more.join(', ')}` : status;
}
