import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { AppError, conflictError, usageError } from '../../../api/errors.ts';
import { oneLine } from '../../../core/lib/plain.ts';
import { mapTexts, redactor } from '../../../core/lib/redact.ts';
import { replaceFile } from '../../../core/lib/replace-file.ts';
import { conversationMarkdown } from '../../terminal/conversation.ts';
import type { GlobalOptions } from '../context.ts';
import type { CommandContext } from '../command-io.ts';
import { type Exported, exportHtml } from './html.ts';

export interface ExportOptions {
  html?: boolean;
  markdown?: boolean;
  redact?: boolean;
  file?: string;
  force?: boolean;
}

/**
 * Writes an export to stdout, or to a file that does not exist yet. `document` is its JSON, `exported` what HTML and
 * Markdown show. Throws `usage` for two formats, `conflict` for a file that exists without `force`.
 */
export async function writeExport(
  { io, global }: Pick<CommandContext, 'io' | 'global'>,
  { html, markdown, redact, file, force }: ExportOptions,
  { document, exported }: { document: unknown; exported: Exported },
): Promise<void> {
  if (Number(html === true) + Number(markdown === true) + Number(global.json === true) > 1)
    throw usageError('more than one format: use one of --html, --markdown and --json');
  const clean = redact ? await cleaner(global, io.env) : <T>(value: T): T => value;
  const parts = global.json
    ? [`${JSON.stringify(clean(document), null, 2)}\n`]
    : markdown
      ? markdownParts(clean(exported))
      : exportHtml(clean(exported));
  if (file === undefined) {
    for (const part of parts) io.stdout.write(part);
    return;
  }
  const target = path.resolve(io.cwd(), file);
  writeAll(target, parts, force === true);
  io.stderr.write(`cadre: wrote ${target}\n`);
}

function* markdownParts({ title, facts, turns }: Exported): Generator<string> {
  const lines = facts.map(([name, value]) => `- ${oneLine(name)}: ${oneLine(value)}\n`);
  yield `# ${oneLine(title)}\n\n${lines.join('')}`;
  for (const { speaker, blocks } of turns)
    yield `\n${conversationMarkdown(blocks, speaker === null ? undefined : oneLine(speaker))}`;
}

/** Writes a file that only its user can read, whole or not at all. */
function writeAll(file: string, parts: Iterable<string>, force: boolean): void {
  try {
    if (!force && fs.existsSync(file))
      throw conflictError(`the file ${file} already exists: pass --force to replace the file`);
    replaceFile(file, [...parts].join(''));
  } catch (error) {
    if (error instanceof AppError) throw error;
    const { message } = error as Error;
    throw usageError(`cannot write ${file}: ${message}`, { cause: error });
  }
}

/**
 * Removes the secrets that the configuration and the environment of this command name, the API token of the server on this
 * machine, fields whose names mark secrets, and what has the form of a secret.
 */
async function cleaner(global: GlobalOptions, env: NodeJS.ProcessEnv): Promise<<T>(value: T) => T> {
  const { findConfig } = await import('../../../core/config/load.ts');
  const { isRedactable, isSecretName, secretsOf } = await import('../../../core/config/secrets.ts');
  const { config } = findConfig({}, env);
  const own = Object.entries(env).flatMap(([name, value]) =>
    isSecretName(name) && value !== undefined && isRedactable(value) ? [value] : [],
  );
  const secrets = [...(config === null ? [] : secretsOf(config)), ...own];
  const token = await tokenOf(global, env);
  const change = redactor(token === null ? secrets : [...secrets, token], os.homedir());
  // `key` names a part of a conversation, and no secret.
  const isSecret = (name: string) => name !== 'key' && isSecretName(name);
  return (value) => mapTexts(value, change, isSecret);
}

/** The API token of the server on this machine; null where none can be read. */
async function tokenOf(global: GlobalOptions, env: NodeJS.ProcessEnv): Promise<string | null> {
  const { serverDirectory } = await import('../context.ts');
  const { findRegistration } = await import('../../../core/config/registration.ts');
  const { readToken } = await import('../../../core/config/token.ts');
  try {
    const file =
      global.tokenFile?.at(-1) ??
      findRegistration(await serverDirectory(global, env))?.server.token_file;
    return file ? readToken(file) : null;
  } catch {
    return null;
  }
}
