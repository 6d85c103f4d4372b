import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { ReactNode } from 'react';
import { conflictError, usageError } from '../../../api/errors.ts';
import { replaceFile } from '../../../core/lib/replace-file.ts';
import { nameOf } from '../list/row-text.ts';
import { type ListItem, sessionIdOf } from '../list/list-items.ts';
import { Prompt } from '../prompt.tsx';
import type { ScreenState } from './screen-state.ts';
import { endpoints } from '../../../api/index.ts';
import type { Client } from '../../../client/client.ts';
import { readLogs } from '../../../client/log-stream.ts';
import type { Clock } from '../../../core/lib/clock.ts';
import { conversationMarkdown } from '../../terminal/conversation.ts';
import { ConversationPages } from '../panes/conversation-pages.ts';
import { emptyConversation, withEvents } from '../panes/conversation-state.ts';
import { type Output, outputs } from '../panes/log-text.ts';

/** Asks for the file to which the conversation or log of a row is saved, and asks again before it replaces one. */
export function SavePrompt({ shown, item }: { shown: ScreenState; item: ListItem }): ReactNode {
  const { context, back, attempt, showNotice, setMode, columns } = shown;
  const { directory } = context.terminal;
  const save = async (file: string, replaces: boolean) => {
    const { client, clock } = context;
    const { text, missing } = await (item.kind === 'process'
      ? wholeLog(client, clock, item.id)
      : wholeConversation(client, sessionIdOf(item) ?? item.id));
    write(file, text, replaces, context.keys.label('save'));
    const lost = missing === 0 ? '' : `; ${missing} bytes of the output are no longer stored`;
    showNotice(`Saved ${file} (${Buffer.byteLength(text)} bytes${lost})`);
  };
  const answer = (name: string) => {
    back();
    if (name === '') return;
    const file = path.resolve(directory, name.replace(/^~(?=\/|$)/, os.homedir()));
    const found = entryAt(file);
    // A path that cannot be read is refused by the write, which says why.
    if (!found) return attempt(save(file, false));
    if (!found.isFile() && !found.isSymbolicLink())
      return showNotice(`cannot replace ${file}: not a regular file`);
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
      initial={path.join(directory, fileNameFor(item))}
      onCancel={back}
      onAnswer={answer}
    />
  );
}

/** Returns the entry of a path; null where there is none, or the path cannot be read. */
function entryAt(file: string): fs.Stats | null {
  try {
    return fs.lstatSync(file);
  } catch {
    return null;
  }
}

/** A name for the file: what the row is called, in the characters that every file system has. */
function fileNameFor(item: ListItem): string {
  const session = item.kind === 'approval' ? item.session?.title : undefined;
  const name = (session ?? nameOf(item)).replaceAll(/[^\p{L}\p{N}._-]+/gu, '-').slice(0, 60);
  const trimmed = name.replaceAll(/^[-.]+|[-.]+$/g, '');
  return `${trimmed === '' ? item.id : trimmed}.${item.kind === 'process' ? 'log' : 'md'}`;
}

/**
 * Writes a file that only its owner can read. Throws `conflict` for one that exists, unless it is to be replaced. `saveKey` is
 * the key with which the user tries again.
 */
function write(file: string, text: string, replaces: boolean, saveKey: string): void {
  try {
    if (replaces) replaceFile(file, text);
    else fs.writeFileSync(file, text, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST')
      throw conflictError(
        `the file ${file} already exists: press ${saveKey} again to replace the file`,
      );
    throw usageError(`cannot write ${file}: ${message}`, { cause: error });
  }
}

interface WholeText {
  text: string;
  /** How many bytes of it the server no longer stores. */
  missing: number;
}

/** Reads all turns of a session, as Markdown. Throws an AppError. */
async function wholeConversation(client: Client, sessionId: string): Promise<WholeText> {
  const pages = new ConversationPages(client, sessionId);
  const { blocks, seq, open } = await pages.next();
  const pieces = await pages.pieces(open, seq);
  const read = [withEvents({ ...emptyConversation, blocks }, pieces).blocks];
  while (!pages.isAtStart) read.push((await pages.next()).blocks);
  return { text: conversationMarkdown(read.toReversed().flat()), missing: 0 };
}

/** Reads the output of a process up to now: stdout, then stderr. Throws an AppError. */
async function wholeLog(client: Client, clock: Clock, processId: string): Promise<WholeText> {
  const params = { process_id: processId };
  const ends = await client.call(endpoints.getProcessLogs, { params, query: { tail_lines: 1 } });
  const texts: Partial<Record<Output, string>> = {};
  let missing = 0;
  for (const stream of outputs) {
    const { offset, bytes } = ends[stream] ?? { offset: 0, bytes: 0 };
    const to = offset + bytes;
    if (to === 0) continue;
    const { signal } = new AbortController();
    const read = await readLogs({ client, clock, processId, stream, from: 0, to, signal });
    texts[stream] = read.text;
    missing += to - read.bytes;
  }
  const { stdout = '', stderr } = texts;
  const gap = stdout === '' || stdout.endsWith('\n') ? '' : '\n';
  return {
    text: stderr === undefined ? stdout : `${stdout}${gap}--- stderr ---\n${stderr}`,
    missing,
  };
}
