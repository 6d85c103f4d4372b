import path from 'node:path';
import { notFoundError, usageError } from '../../../api/errors.ts';
import { endpoints } from '../../../api/index.ts';
import { type Brought, TEMPLATE_NAME } from '../../../api/worktree-trust.ts';
import { plain, revealed } from '../../../core/lib/plain.ts';
import { shellWord } from '../../../core/lib/shell-word.ts';
import { wrapped } from '../../terminal/width.ts';
import { fillTemplate, parseTemplate, type Template } from '../template.ts';
import type { CommandContext } from '../world.ts';
import { keyOf, LEAVE, showAll } from './key-question.ts';
import { Keyboard, noKeys } from './keyboard.ts';
import { sizeOf, type Terminal, terminalOf } from './terminal.ts';

export interface StoredTemplate extends Pick<Brought, 'name' | 'sha256' | 'text' | 'trusted'> {
  repo_root: string;
}

/** Returns the committed templates of the repository of a directory: one with its name, or all. Throws `not_found`. */
export async function storedTemplates(
  { client, world }: Pick<CommandContext, 'client' | 'world'>,
  directory: string,
  name?: string,
): Promise<StoredTemplate[]> {
  if (name !== undefined && !TEMPLATE_NAME.test(name))
    throw usageError(
      `invalid template name "${name}": expected at most 64 letters, digits, hyphens and underscores`,
    );
  const body = {
    repo_root: path.resolve(world.cwd(), directory),
    templates: name === undefined ? [] : [name],
  };
  const { repo_root, brings } = await client.call(endpoints.lookAtBrought, { body });
  if (name !== undefined && brings.length === 0)
    throw notFoundError(
      `template "${name}" not found: commit .cadre/templates/${name}.toml on the main worktree of ${repo_root}, as a regular file of at most 64 KiB`,
    );
  return brings.map((one) => ({ ...one, repo_root }));
}

/**
 * Returns a template with its variables filled in, once a person has trusted its content. Asks at a terminal. Throws
 * `usage` without a terminal, and if the person declines.
 */
export async function useTemplate(
  context: CommandContext,
  { directory, name, words }: { directory: string; name: string; words: readonly string[] },
): Promise<Template> {
  const [stored] = await storedTemplates(context, directory, name);
  if (!stored) throw notFoundError(`template "${name}" not found`);
  const template = fillTemplate(name, parseTemplate(name, stored.text), words);
  if (!stored.trusted) await trust(context, stored);
  return template;
}

async function trust(
  { world, client, global }: CommandContext,
  { name, repo_root, sha256, text }: StoredTemplate,
): Promise<void> {
  const terminal = global.json ? null : terminalOf(world);
  if (!terminal)
    throw usageError(
      `template "${name}" is new or has changed: read it with cadre templates show ${name}, then trust it with cadre worktrees trust --repo ${shellWord(repo_root)} --sha256 ${sha256}`,
    );
  const heading = `template "${name}" of ${plain(repo_root)} is new or has changed:`;
  if (!(await accepts(terminal, [heading, ...textLines(text, sizeOf(terminal).columns)], world)))
    throw usageError(`template "${name}" was not trusted`);
  await client.call(endpoints.trustContent, { body: { repo_root, sha256 } });
}

/** Shows lines page by page. Resolves with whether a person has seen the last line and accepts. */
async function accepts(
  terminal: Terminal,
  lines: readonly string[],
  world: CommandContext['world'],
): Promise<boolean> {
  using keyboard = new Keyboard(terminal);
  const question = { terminal, keyboard, signal: world.interrupted() };
  for (;;) {
    const early = await showAll(question, lines);
    if (early !== null) return false;
    await keyboard.quiet(terminal.clock, question.signal);
    const key = await keyOf(question, 'use this content from now on?', [
      ['y', '[y] yes'],
      ['n', '[n] no'],
      ['v', '[v] view'],
      ['', '[^C] interrupt'],
    ]);
    if (key === 'y') return true;
    if (key === 'n' || key === LEAVE || key === noKeys.gone) return false;
  }
}

/** The whole text behind a mark, with hidden characters as their code points. */
export function textLines(text: string, columns: number): string[] {
  const mark = '  | ';
  return wrapped(revealed(text.replace(/\n$/, '')), columns - mark.length).map(
    (line) => mark + line,
  );
}
