import { streamLogs } from '../../client/log-stream.ts';
import { plain } from './output.ts';
import { jsonFor, type CommandContext } from './world.ts';

/** The two outputs of a process. */
export const outputs = ['stdout', 'stderr'] as const;
export type Output = (typeof outputs)[number];

/**
 * Copies what a process prints to the same outputs of this one, until it has ended or `signal` aborts: of each output
 * that is named, from that byte on.
 */
export async function followOutput(
  { world, client, global }: CommandContext,
  processId: string,
  signal: AbortSignal,
  wanted: Partial<Record<Output, number>> = { stdout: 0, stderr: 0 },
): Promise<void> {
  const show = async (stream: Output) => {
    const from = wanted[stream];
    if (from === undefined) return;
    const source = { client, clock: world.clock, processId, stream, signal, from };
    for await (const text of streamLogs(source))
      if (global.json) world.stdout.write(`${jsonFor(world, { stream, text })}\n`);
      else world[stream].write(world[stream].isTTY ? plain(text) : text);
  };
  await Promise.all(outputs.map(show));
}
