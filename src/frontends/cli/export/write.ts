import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { AppError } from '../../../api/errors.ts';
import { mapTexts, redactor } from '../../../core/lib/redact.ts';
import { conversationMarkdown } from '../../terminal/conversation.ts';
import type { CommandContext } from '../world.ts';
import { type Exported, exportHtml } from './html.ts';

/** The options of a command that exports. */
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
  { world, global }: CommandContext,
  { html, markdown, redact, file, force }: ExportOptions,
  { document, exported }: { document: unknown; exported: Exported },
): Promise<void> {
  if (Number(html === true) + Number(markdown === true) + Number(global.json === true) > 1)
    throw new AppError('usage', 'more than one format: use one of --html, --markdown and --json');
  const change = redact ? await redaction(world.env) : null;
  const clean = <T>(value: T): T => (change === null ? value : mapTexts(value, change));
  const parts = global.json
    ? [`${JSON.stringify(clean(document), null, 2)}\n`]
    : markdown
      ? markdownParts(clean(exported))
      : exportHtml(clean(exported));
  if (file === undefined) {
    for (const part of parts) world.stdout.write(part);
    return;
  }
  const target = path.resolve(world.cwd(), file);
  writeAll(target, parts, force === true);
  world.stderr.write(`cadre: wrote ${target}\n`);
}

function* markdownParts({ title, facts, turns }: Exported): Generator<string> {
  yield `# ${title}\n\n${facts.map(([name, value]) => `- ${name}: ${value}\n`).join('')}`;
  for (const { speaker, blocks } of turns) {
    const text = conversationMarkdown(blocks);
    yield `\n${speaker === null ? text : text.replaceAll(/^## Agent$/gm, () => `## ${speaker}`)}`;
  }
}

/** Writes a file that only its user can read. */
function writeAll(file: string, parts: Iterable<string>, force: boolean): void {
  try {
    const fd = fs.openSync(file, force ? 'w' : 'wx', 0o600);
    try {
      for (const part of parts) fs.writeSync(fd, part);
    } finally {
      fs.closeSync(fd);
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST')
      throw new AppError('conflict', `${file} already exists: pass --force to replace it`);
    throw new AppError('usage', `cannot write ${file}: ${message}`, { cause: error });
  }
}

/** Removes the secrets that the configuration and the environment of this command name, and those with a known form. */
async function redaction(env: NodeJS.ProcessEnv): Promise<(text: string) => string> {
  const { findConfig } = await import('../../../core/config/load.ts');
  const { isRedactable, isSecretName, secretsOf } = await import('../../../core/config/secrets.ts');
  const { config } = findConfig({}, env);
  const own = Object.entries(env).flatMap(([name, value]) =>
    isSecretName(name) && value !== undefined && isRedactable(value) ? [value] : [],
  );
  return redactor([...(config === null ? [] : secretsOf(config)), ...own], os.homedir());
}
