import { AppError } from '../../../api/errors.ts';
import { clientCommand, commandGroup } from '../command.ts';
import type { Layout } from '../layout.ts';
import { details, plain, table } from '../output.ts';
import { listOptions, recordOptions } from '../output-options.ts';
import {
  storedTemplate,
  storedTemplates,
  type StoredTemplate,
  textLines,
} from '../session/use-template.ts';
import { fillTemplate, parseTemplate, type Template } from '../template.ts';

const repository = {
  line: '-R, --repo <directory>  Directory of the repository',
  default: '.',
} as const;

export const templateCommands = commandGroup(
  'templates',
  'Show the prompt templates of a repository',
  [
    clientCommand({
      name: 'list',
      description: 'List the templates that are committed in .cadre/templates of a repository',
      parameters: [repository, ...listOptions],
      async run(context, { repo }: { repo: string }) {
        const found = (await storedTemplates(context, repo)).map(read);
        if (found.length === 0)
          context.note('no templates: commit a file .cadre/templates/NAME.toml');
        context.show(found, () => (found.length > 0 ? listText(found, context.layout) : ''));
      },
    }),
    clientCommand({
      name: 'show',
      description: 'Show a template, and the session that cadre run --template would create',
      parameters: [
        '<template>  Name of the template',
        '[variables...]  Values of variables as NAME=VALUE, which are replaced',
        repository,
        ...recordOptions,
      ],
      async run(context, name: string, words: readonly string[], { repo }: { repo: string }) {
        const stored = await storedTemplate(context, repo, name);
        const one = read(stored);
        const { template } = one;
        const filled =
          template && words.length > 0 ? fillTemplate(name, template, words) : template;
        context.show({ ...one, template: filled }, () =>
          [
            ...textLines(stored.text, context.layout.columns),
            '',
            details({
              ...stored,
              text: undefined,
              ...problemOf(one),
              ...settingsOf(filled),
            }).trimEnd(),
            ...(filled && words.length > 0
              ? ['', 'Prompt:', ...textLines(filled.prompt, context.layout.columns)]
              : []),
            '',
          ].join('\n'),
        );
      },
    }),
  ],
);

function problemOf({ problem }: ReadTemplate): object {
  return problem === null ? {} : { problem };
}

interface ReadTemplate extends StoredTemplate {
  template: Template | null;
  /** Why the template cannot be used. */
  problem: string | null;
}

function read(stored: StoredTemplate): ReadTemplate {
  try {
    return { ...stored, template: parseTemplate(stored.name, stored.text), problem: null };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { ...stored, template: null, problem: plain(error.message) };
  }
}

function listText(found: readonly ReadTemplate[], layout: Layout): string {
  const rows = found.map(({ name, trusted, template, problem }) => [
    name,
    trusted ? 'yes' : 'no',
    Object.keys(template?.variables ?? {}).join(', '),
    problem ?? template?.description ?? '',
  ]);
  return table(['TEMPLATE', 'TRUSTED', 'VARIABLES', 'DESCRIPTION'], rows, layout);
}

/** The settings of the session of a template, by the options of `cadre run`. */
function settingsOf(template: Template | null | undefined): object {
  if (!template) return {};
  const { description: _about, prompt: _prompt, variables, ...settings } = template;
  const { check_timeout: check_timeout_ms, within: within_ms, ...others } = settings;
  const needs = Object.entries(variables).map(([name, { description, default: value }]) =>
    [
      value === undefined ? name : `${name}=${value}`,
      ...(description === undefined ? [] : [`(${description})`]),
    ].join(' '),
  );
  return { ...others, check_timeout_ms, within_ms, variables: needs.join(', ') || undefined };
}
