import type { Approval, ApprovalScope } from '../../../api/approvals.ts';
import { CONFIRMATION, needsConfirmation } from '../../../core/lib/arguments-missing.ts';
import { approvalText } from '../../terminal/approval-text.ts';
import { widthOf } from '../../terminal/width.ts';
import type { Answer, AskingMore } from './ask-approval.ts';
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
    const sheet = approvalText(approval, { columns, palette: terminal.palette });
    const early = await showAll(question, ['', heading, ...sheet]);
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

interface Question {
  terminal: Terminal;
  keyboard: Keyboard;
  signal: AbortSignal;
}

type Key = readonly [key: string, label: string];

/** Shows lines page by page. Returns the key that ended it before the last line, else null. */
async function showAll(question: Question, lines: readonly string[]): Promise<string | null> {
  const { terminal, keyboard, signal } = question;
  for (let from = 0; ;) {
    const to = Math.min(lines.length, from + sizeOf(terminal).rows - 1);
    terminal.output.write(
      lines
        .slice(from, to)
        .map((line) => `${line}\n`)
        .join(''),
    );
    if (to === lines.length) return null;
    if (from === 0) await keyboard.quiet(terminal.clock, signal);
    from = to;
    const key = await keyOf(question, `${lines.length - to} more lines:`, [
      [' ', '[space] show them'],
      ['n', '[n] no'],
      ['l', '[l] later'],
      ['', '[^C] interrupt'],
    ]);
    if (key !== ' ') return key;
  }
}

/** Takes the answer, once all was shown. */
async function choose(question: Question, scopes: readonly ApprovalScope[]): Promise<string> {
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
async function confirm(question: Question, key: string): Promise<string> {
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

/** Shows keys in one line, waits for one of them, and erases the line. Answers also those of `always`. */
async function keyOf(question: Question, what: string, keys: readonly Key[]): Promise<string> {
  const { terminal, keyboard, signal } = question;
  const { output, palette } = terminal;
  const show = () => {
    const line = fitting([what, ...keys.map(([, label]) => label)], sizeOf(terminal).columns - 2);
    output.write(`\r\u001B[K${palette.strong(line)} `);
  };
  show();
  try {
    for (;;) {
      const pressed = await keyboard.next(signal);
      const wanted = pressed.toLowerCase();
      const key = keys.some(([one]) => one === wanted) ? wanted : (synonyms[wanted] ?? wanted);
      if (key === noKeys.continued) show();
      else if (always.has(key) || keys.some(([one]) => one === key)) return key;
    }
  } finally {
    output.write('\r\u001B[K');
  }
}

/** Ctrl-D. */
const LEAVE = '\u0004';
const always: ReadonlySet<string> = new Set([noKeys.gone, LEAVE]);

/** Keys that mean the same; `d` is the key of the screen. None of them accepts. */
const synonyms: Readonly<Record<string, string>> = { d: 'n', '\r': ' ', '\n': ' ' };

/** As many of the parts as fit into a line, from the first. */
function fitting([first = '', ...others]: readonly string[], columns: number): string {
  let line = first;
  for (const part of others) {
    const longer = `${line}  ${part}`;
    if (widthOf(longer) > columns) break;
    line = longer;
  }
  return line;
}
