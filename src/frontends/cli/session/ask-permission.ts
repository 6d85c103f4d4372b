import type { Approval, ApprovalScope } from '../../../api/approvals.ts';
import { CONFIRMATION, needsConfirmation } from '../../../core/lib/arguments-missing.ts';
import { approvalText } from '../../terminal/approval-text.ts';
import type { Answer, AskingMore } from './ask-approval.ts';
import { type Key, type KeyQuestion, keyOf, LEAVE, showAll } from './key-question.ts';
import { Keyboard, noKeys } from './keyboard.ts';
import { sizeOf, type Terminal } from './terminal.ts';

/**
 * Shows everything that an approval would allow, page by page, and takes one key as the answer. It can be accepted only
 * after its last line was shown, and keys that were pressed before the question was there answer nothing. Returns null
 * if the terminal is gone. Rejects with the signal's reason if it aborts.
 */
export async function askPermission(
  terminal: Terminal,
  approval: Approval,
  { waiting, signal }: AskingMore,
): Promise<Answer> {
  using keyboard = new Keyboard(terminal);
  const question = { terminal, keyboard, signal };
  for (;;) {
    const more = waiting();
    const heading =
      more === 0
        ? 'the agent requests approval'
        : `the agent requests approval (${more} more after this)`;
    const { columns } = sizeOf(terminal);
    const request = approvalText(approval, { columns, palette: terminal.palette });
    const early = await showAll(question, ['', heading, ...request], [['l', '[l] later']]);
    const chosen = early ?? (await choose(question, approval.scopes));
    const isAccepted = chosen === 'y' || chosen === 's';
    const needsWord = isAccepted && needsConfirmation(approval);
    const key = needsWord ? await confirm(question, chosen) : chosen;
    if (key === 'y') return { decision: 'accept' };
    if (key === 's') return { decision: 'accept', scope: 'session' };
    if (key === 'n') return { decision: 'decline' };
    if (key === 'l') return 'later';
    if (key === LEAVE) return 'leave';
    if (key === noKeys.gone) return null;
  }
}

async function choose(question: KeyQuestion, scopes: readonly ApprovalScope[]): Promise<string> {
  await question.keyboard.quiet(question.terminal.clock, question.signal);
  const accepting: Key[] = scopes.map((scope) => waysToAccept[scope]);
  return keyOf(question, 'accept?', [
    ...accepting,
    ['n', '[n] no'],
    ['l', '[l] later'],
    ['v', '[v] view'],
    ['', '[^C] interrupt'],
  ]);
}

/** Takes the word that accepts what the agent does not describe. Returns the key, or the one pressed instead of the word. */
async function confirm(question: KeyQuestion, key: string): Promise<string> {
  let typed = '';
  for (const letter of CONFIRMATION) {
    const pressed = await keyOf(question, `type ${CONFIRMATION} to accept it: ${typed}`, [
      [letter, ''],
      ['n', '[n] no'],
      ['l', '[l] later'],
      ['v', '[v] view'],
    ]);
    if (pressed !== letter) return pressed;
    typed += letter;
  }
  return key;
}

const waysToAccept = {
  once: ['y', '[y] once'],
  session: ['s', '[s] session'],
} as const satisfies Record<ApprovalScope, Key>;
