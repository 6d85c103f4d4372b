import { streamLogs } from '../client/log-stream.ts';
import { plain } from './output.ts';
import type { CommandContext } from './world.ts';

/** The two outputs of a process. */
export const outputs = ['stdout', 'stderr'] as const;
export type Output = (typeof outputs)[number];

/** Copies what a process prints to the same outputs of this one, until it has ended or the command is interrupted. */
export async function followOutput(
  { world, client, global }: CommandContext,
  id: string,
  wanted: readonly Output[] = outputs,
): Promise<void> {
  const signal = world.interrupted();
  const show = async (stream: Output) => {
    const texts = streamLogs({ client, clock: world.clock, processId: id, stream, signal });
    for await (const text of texts)
      if (global.json) world.stdout.write(`${JSON.stringify({ stream, text })}\n`);
      else world[stream].write(world[stream].isTTY ? plain(text) : text);
  };
  await Promise.all(wanted.map(show));
}
