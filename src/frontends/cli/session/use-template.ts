import path from 'node:path';
import { notFoundError, usageError } from '../../../api/errors.ts';
import { endpoints } from '../../../api/index.ts';
import { type Brought, TEMPLATE_NAME } from '../../../api/worktree-trust.ts';
import { plain, revealed } from '../../../core/lib/plain.ts';
import { shorten } from '../../../core/lib/shorten.ts';
import { shellWord } from '../../../core/lib/shell-word.ts';
import { wrapped } from '../../terminal/width.ts';
import { teams } from '../record-kinds.ts';
import { shortId } from '../output.ts';
import { fillTemplate, parseTemplate, type Template } from '../template.ts';
import type { CommandContext } from '../command-io.ts';
import { keyOf, LEAVE, showAll } from './key-question.ts';
import { Keyboard, noKeys } from './keyboard.ts';
import { sizeOf, type Terminal, terminalOf } from './terminal.ts';

export interface StoredTemplate extends Pick<Brought, 'name' | 'sha256' | 'text' | 'trusted'> {
  repo_root: string;
}

/** Returns all committed templates of the repository of a directory. */
export async function storedTemplates(
  context: TemplateReader,
  directory: string,
): Promise<StoredTemplate[]> {
  return (await readTemplates(context, directory, [])).stored;
}

/** Returns a committed template of the repository of a directory. Throws `usage` for an invalid name, `not_found`. */
export async function storedTemplate(
  context: TemplateReader,
  directory: string,
  name: string,
): Promise<StoredTemplate> {
  if (!TEMPLATE_NAME.test(name))
    throw usageError(
      `invalid template name "${name}": expected at most 64 letters, digits, hyphens and underscores`,
    );
  const { repo_root, stored } = await readTemplates(context, directory, [name]);
  const [found] = stored;
  if (found) return found;
  throw notFoundError(
    `template "${name}" not found: commit .cadre/templates/${name}.toml on the main worktree of ${repo_root}, as a regular file of at most 64 KiB`,
  );
}

type TemplateReader = Pick<CommandContext, 'client' | 'io'>;

/** Reads the templates with these names; all without names. */
async function readTemplates(
  { client, io }: TemplateReader,
  directory: string,
  templates: string[],
): Promise<{ repo_root: string; stored: StoredTemplate[] }> {
  const body = { repo_root: path.resolve(io.cwd(), directory), templates };
  const { repo_root, brings } = await client.call(endpoints.lookAtBrought, { body });
  return { repo_root, stored: brings.map((one) => ({ ...one, repo_root })) };
}

/**
 * Returns a template with its variables filled in, once a person has trusted its content. Asks at a terminal. Throws
 * `usage` without a terminal, if the person declines, and if the session of the template cannot join its team.
 */
export async function useTemplate(
  context: CommandContext,
  { directory, name, words }: { directory: string; name: string; words: readonly string[] },
): Promise<Template> {
  const stored = await storedTemplate(context, directory, name);
  const template = fillTemplate(name, parseTemplate(name, stored.text), words);
  if (!stored.trusted) await trust(context, stored);
  if (template.team !== undefined) await assertTeam(context, template.team);
  return template;
}

/** Throws `usage` if several teams have the name, before anything is created. */
async function assertTeam({ client }: CommandContext, team: string): Promise<void> {
  const found: string[] = [];
  for await (const one of teams.all(client))
    if (one.name === team && one.deleted_at === null) found.push(shortId(one.id));
  if (found.length > 1)
    throw usageError(
      `the name "${shorten(plain(team), 80)}" matches several teams (${found.join(', ')}): delete the other teams with cadre teams delete`,
    );
}

/**
 * Adds a new session to the team with a name, or creates the team with the session as its lead. If that fails and the
 * command cannot be repeated with its key, the session is closed.
 */
export async function joinTeam(
  { client, note }: Pick<CommandContext, 'client' | 'note'>,
  session_id: string,
  name: string,
  key: string | undefined,
): Promise<void> {
  const body = { name, lead_agent_id: session_id, join_existing: true };
  const joining = client.call(endpoints.createTeam, { body }, undefined, key);
  const { team } = await joining.catch(async (error: unknown) => {
    const params = { session_id };
    if (key === undefined)
      await client.call(endpoints.closeSession, { params, body: {} }).catch(() => undefined);
    throw error;
  });
  const role = team.lead_agent_id === session_id ? 'leads' : 'joined';
  note(`the session ${role} the team "${plain(team.name)}" (${shortId(team.id)})`);
}

async function trust(
  { io, client, global }: CommandContext,
  { name, repo_root, sha256, text }: StoredTemplate,
): Promise<void> {
  const terminal = global.json ? null : terminalOf(io);
  if (!terminal)
    throw usageError(
      `template "${name}" is new or has changed: read it with cadre templates show ${name}, then trust it with cadre worktrees trust --repo ${shellWord(repo_root)} --sha256 ${sha256}`,
    );
  const heading = `template "${name}" of ${plain(repo_root)} is new or has changed:`;
  if (!(await accepts(terminal, [heading, ...textLines(text, sizeOf(terminal).columns)], io)))
    throw usageError(`template "${name}" was not trusted`);
  await client.call(endpoints.trustContent, { body: { repo_root, sha256 } });
}

/** Shows lines page by page. Resolves with whether a person has seen the last line and accepts. */
async function accepts(
  terminal: Terminal,
  lines: readonly string[],
  io: CommandContext['io'],
): Promise<boolean> {
  using keyboard = new Keyboard(terminal);
  const question = { terminal, keyboard, signal: io.interrupted() };
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
