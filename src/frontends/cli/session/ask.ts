import type { CommandContext } from '../command-io.ts';
import { ApprovalAsker, type Asking } from './ask-approval.ts';
import type { TurnOutput } from './turn-output.ts';
import { type Terminal, terminalOf } from './terminal.ts';

/** Who asks for approvals: at the terminal of the command, if it has one and writes for people. */
export function askerOf(
  { io, client, global }: CommandContext,
  turnOutput: TurnOutput,
  leaving: Pick<
    ConstructorParameters<typeof ApprovalAsker>[0],
    'stopped' | 'onLeave' | 'leavesWithLater'
  >,
): ApprovalAsker {
  const terminal = global.json ? null : terminalOf(io);
  return new ApprovalAsker({
    io,
    client,
    turnOutput,
    ...leaving,
    ask: terminal && askingAt(terminal),
  });
}

/** Asks at a terminal. The first question loads the code for it. */
export function askingAt(terminal: Terminal): Asking {
  return async (approval, more) => {
    if (approval.kind !== 'question' || !approval.questions?.length)
      return (await import('./ask-permission.ts')).askPermission(terminal, approval, more);
    return (await import('./ask-questions.ts')).askQuestions(terminal, approval, more);
  };
}
