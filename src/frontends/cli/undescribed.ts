import type { Approval } from '../../api/approvals.ts';
import { AppError } from '../../api/errors.ts';
import {
  ARGUMENTS_MISSING,
  CONFIRMATION,
  needsConfirmation,
} from '../../core/lib/arguments-missing.ts';
import type { Reading } from './endpoint-command.ts';
import { plain, shortId } from './output.ts';

/**
 * Confirms the acceptance of a request that does not describe everything that it would do: by its flag, else by the word
 * that somebody types at the terminal. Throws `usage` without both.
 */
export async function confirmUndescribed(
  approval: Approval,
  { world, global, options }: Pick<Reading, 'world' | 'global' | 'options'>,
): Promise<void> {
  if (approval.status !== 'pending' || !needsConfirmation(approval)) return;
  for (const gap of gapsOf(approval)) world.stderr.write(`cadre: ${gap}\n`);
  if (options.undescribed === true) return;
  const show = `see cadre approvals show ${shortId(approval.id)}`;
  const { terminalOf } = await import('./talk/terminal.ts');
  const terminal = global.json ? null : terminalOf(world);
  if (!terminal)
    throw new AppError(
      'usage',
      `the request was not accepted, because the agent did not describe the action completely: pass --undescribed to accept the request (${show})`,
    );
  const { readLine } = await import('./talk/read-line.ts');
  terminal.output.write(`${plain(approval.title)}\n`);
  const question = `type ${CONFIRMATION} to accept it: `;
  const line = await readLine(terminal, question, world.interrupted());
  if (line?.trim() !== CONFIRMATION)
    throw new AppError(
      'usage',
      `the request was not accepted, because you did not type ${CONFIRMATION} (${show})`,
    );
}

/** The parts that no detail of the approval shows. */
function gapsOf({ arguments_missing: isMissing, details }: Approval): string[] {
  const omitted = details.flatMap((part) =>
    part.type === 'omitted' ? [`not shown, because it is too large: ${plain(part.name)}`] : [],
  );
  return isMissing ? [ARGUMENTS_MISSING, ...omitted] : omitted;
}
