import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { ReactNode } from 'react';
import { conflictError, usageError } from '../../../api/errors.ts';
import { replaceFile } from '../../../core/lib/replace-file.ts';
import { nameOf } from '../list/row-text.ts';
import { type ListItem, sessionIdOf } from '../list/list-items.ts';
import { type WholeText, wholeConversation, wholeLog } from '../panes/whole-text.ts';
import { Prompt } from '../prompt.tsx';
import type { ScreenState } from './screen-state.ts';

/** Asks for the file to which the conversation or log of a row is saved, and asks again before it replaces one. */
export function SavePrompt({ shown, thing }: { shown: ScreenState; thing: ListItem }): ReactNode {
  const { place, back, attempt, tell, setMode, columns } = shown;
  const { directory } = place.terminal;
  const save = async (file: string, replaces: boolean) => {
    const { text, missing } = await wholeTextOf(shown, thing);
    write(file, text, replaces);
    const lost = missing === 0 ? '' : `; ${missing} bytes of the output are no longer stored`;
    tell(`Saved ${file} (${Buffer.byteLength(text)} bytes${lost})`);
  };
  const answer = (said: string) => {
    back();
    if (said === '') return;
    const file = path.resolve(directory, said.replace(/^~(?=\/|$)/, os.homedir()));
    const found = fs.lstatSync(file, { throwIfNoEntry: false });
    if (!found) return attempt(save(file, false));
    if (!found.isFile() && !found.isSymbolicLink())
      return tell(`cannot replace ${file}: not a regular file`);
    const work = () => save(file, true);
    const text = `${path.basename(file)} exists. Replace it?`;
    setMode({
      name: 'confirm',
      question: { text, answers: [{ keys: 'y', label: 'y replace', work }] },
    });
  };
  return (
    <Prompt
      columns={columns}
      question="Save to (⏎ save):"
      initial={path.join(directory, fileNameFor(thing))}
      onCancel={back}
      onAnswer={answer}
    />
  );
}

/** Whether a row has a text that can be saved. */
export function canSave(thing: ListItem): boolean {
  return thing.kind !== 'team';
}

async function wholeTextOf({ place }: ScreenState, thing: ListItem): Promise<WholeText> {
  const { client, clock } = place;
  return thing.kind === 'process'
    ? wholeLog(client, clock, thing.id)
    : wholeConversation(client, sessionIdOf(thing) ?? thing.id);
}

/** A name for the file: what the row is called, in the characters that every file system has. */
function fileNameFor(thing: ListItem): string {
  const session = thing.kind === 'approval' ? thing.session?.title : undefined;
  const name = (session ?? nameOf(thing)).replaceAll(/[^\p{L}\p{N}._-]+/gu, '-').slice(0, 60);
  const trimmed = name.replaceAll(/^[-.]+|[-.]+$/g, '');
  return `${trimmed === '' ? thing.id : trimmed}.${thing.kind === 'process' ? 'log' : 'md'}`;
}

/** Writes a file that only its owner can read. Throws `conflict` for one that exists, unless it is to be replaced. */
function write(file: string, text: string, replaces: boolean): void {
  try {
    if (replaces) replaceFile(file, text);
    else fs.writeFileSync(file, text, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST')
      throw conflictError(`the file ${file} already exists: press S again to replace the file`);
    throw usageError(`cannot write ${file}: ${message}`, { cause: error });
  }
}
