import { on } from 'node:events';
import { endpoints } from '../../api/index.ts';
import { isInForeground } from '../../core/children/identity.ts';
import { AppError } from '../../api/errors.ts';
import type { CommandContext } from './world.ts';

/** How much one request sends, in bytes: as base64 it is within what the endpoint takes. */
const PART_BYTES = 64 * 1024;

/**
 * Sends what this command reads on stdin to a process, until its end, which is sent too, or until `over` aborts. It is
 * read no faster than the process reads it.
 */
export async function sendInput(
  { world: { stdin }, client }: CommandContext,
  process_id: string,
  over: AbortSignal,
): Promise<void> {
  const send = (body: { data?: string; encoding?: 'base64'; eof?: boolean }) =>
    client.call(endpoints.writeToProcess, { params: { process_id }, body });
  const limits = { signal: over, close: ['end'], highWaterMark: 1, lowWaterMark: 1 };
  try {
    for await (const [chunk] of on(stdin as NodeJS.ReadStream, 'data', limits) as AsyncIterable<
      [Buffer | string]
    >) {
      const bytes = Buffer.from(chunk);
      for (let at = 0; at < bytes.length; at += PART_BYTES)
        await send({
          data: bytes.toString('base64', at, at + PART_BYTES),
          encoding: 'base64',
        });
    }
    await send({ eof: true });
  } catch (error) {
    // The process has ended, reads no more or is out of reach: what follows its output tells of that.
    if (!over.aborted && !(error instanceof AppError)) throw error;
  } finally {
    stdin.pause();
  }
}

/**
 * Whether this command may read its stdin: not where that is a terminal whose foreground is another job, because the
 * system would stop the command.
 */
export function mayReadInput(stdin: { isTTY?: boolean }): boolean {
  return !stdin.isTTY || isInForeground();
}
