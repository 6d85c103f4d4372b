import fs from 'node:fs';
import path from 'node:path';
import { dataDirectory, findConfig, usable } from '../../../core/config/load.ts';
import { valuesOf } from '../../../core/config/keys.ts';
import { masked } from '../../../core/config/secrets.ts';
import { configFile } from '../../../core/config/sources.ts';
import { tokenFileOf } from '../../../core/config/token.ts';
import { commandGroup, localCommand } from '../command.ts';
import type { GlobalOptions } from '../context.ts';
import { exitCodes } from '../exit.ts';
import { configOption, listOptions } from '../output-options.ts';
import { plain, table } from '../output.ts';
import type { LocalContext } from '../command-io.ts';

/** `cadre config …`. These commands need no server. */
export const configCommands = commandGroup('config', 'Show and check the configuration', [
  localCommand({
    name: 'show',
    description: 'Show all configuration keys and values (secrets are masked)',
    parameters: [
      ...listOptions,
      configOption,
      '--origin  Show whether each value comes from the file, the environment or a default',
    ],
    run({
      io: { env },
      global: options,
      show,
      layout,
    }: LocalContext<GlobalOptions & { origin?: boolean }>) {
      const found = findConfig(options, env);
      const config = usable(found);
      const directory = dataDirectory(config, env);
      const { token } = config.auth;
      const used = {
        ...config,
        auth: { token, token_file: tokenFileOf(config, directory) },
        data: { ...config.data, root_dir: directory },
      };
      const rows = valuesOf(used).map(({ name, value }) => ({
        key: name,
        value: masked(name, value),
        ...(options.origin ? { origin: found.originOf(name) } : {}),
      }));
      show(rows, () =>
        table(
          ['KEY', 'VALUE', ...(options.origin ? ['ORIGIN'] : [])],
          rows.map(({ key, value, origin }) => [key, text(value), ...(origin ? [origin] : [])]),
          layout,
        ),
      );
    },
  }),
  localCommand({
    name: 'check',
    description:
      'Check the configuration, and list each problem on a line (exit code 2 if there are problems)',
    parameters: [configOption],
    run: async ({ io, global, show }) => {
      const found = findConfig(global, io.env);
      const problems = [...found.problems];
      if (found.config) {
        const { unknownAgents } = await import('../../../agents/configured.ts');
        const { fleetFileProblems } = await import('../../../core/config/fleet.ts');
        const { hookProblems } = await import('../../../server/hooks/problems.ts');
        problems.push(...unknownAgents(found.config), ...fleetFileProblems(found.config, 'both'));
        problems.push(...hookProblems(found.config));
      }
      const ok = problems.length === 0;
      const text = () => (ok ? ['ok'] : problems).map((line) => `${plain(line)}\n`).join('');
      show({ ok, problems }, text);
      if (!ok) io.exit(exitCodes.usage);
    },
  }),
  localCommand({
    name: 'path',
    description: 'Print the path of the configuration file',
    parameters: [configOption],
    run: ({ io, global, show }) => {
      const file = path.resolve(configFile(global, io.env));
      show({ path: file, exists: fs.existsSync(file) }, () => `${file}\n`);
    },
  }),
]);

function text(value: unknown): string {
  if (value === null) return '-';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
