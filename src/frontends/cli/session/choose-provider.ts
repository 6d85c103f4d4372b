import { endpoints } from '../../../api/index.ts';
import type { ProviderId } from '../../../api/provider-kinds.ts';
import type { ProviderRecord } from '../../../api/providers.ts';
import { type Defaults, preferredProvider, readyOnes } from '../../../client/defaults.ts';
import { defaultConfigFile } from '../../../core/config/paths.ts';
import { AppError, usageError } from '../../../api/errors.ts';
import { plain } from '../output.ts';
import type { CommandContext } from '../command-io.ts';
import { adviceFor } from './agents-on-path.ts';
import { readLine } from './read-line.ts';
import { terminalOf } from './terminal.ts';

/**
 * The provider for a new session, where no flag names one: the preferred one, else the one that somebody at the terminal
 * chooses. Throws `usage` where several are ready and nobody can be asked, `provider_unavailable` where none is.
 */
export async function chooseProvider(context: Asked, defaults: Defaults): Promise<ProviderId> {
  const { byVariable } = defaults.provider;
  if (byVariable) return byVariable;
  const providers = await context.client.call(endpoints.listProviders, {});
  const preferred = preferredProvider(providers, defaults);
  if (preferred) return preferred;
  const ready = readyOnes(providers);
  if (ready.length === 0) throw noneReady(context, providers);
  return askWhich(context, ready);
}

type Asked = Pick<CommandContext, 'io' | 'client' | 'global'>;

function noneReady({ io }: Asked, providers: readonly ProviderRecord[]): AppError {
  const why = providers.map(({ id, detail }) => `  ${id}: ${plain(detail)}`);
  const file = defaultConfigFile(io.env);
  const agents = providers.flatMap((provider) => provider.agents ?? []);
  const usable = agents.filter(({ healthy }) => healthy).map(({ name }) => name);
  return new AppError(
    'provider_unavailable',
    ['no provider is ready', ...why, ...adviceFor(io.env, file, usable)].join('\n'),
  );
}

async function askWhich(
  { io, global }: Asked,
  ready: readonly ProviderRecord[],
): Promise<ProviderId> {
  const names = ready.map(({ id }) => id).join(', ');
  const file = defaultConfigFile(io.env);
  const terminal = global.json ? null : terminalOf(io);
  if (!terminal)
    throw usageError(
      `cannot choose a provider, because several providers are ready (${names}): pass --provider, set CADRE_DEFAULTS_PROVIDER, ` +
        `or set provider under [defaults] in ${file}`,
    );
  const { output } = terminal;
  output.write('Several providers are ready:\n');
  for (const [at, { id, display_name }] of ready.entries())
    output.write(`  ${at + 1}  ${id}  (${plain(display_name)})\n`);
  for (;;) {
    const line = await readLine(terminal, 'Which one? ', io.interrupted());
    const chosen = line === null ? null : chosenOf(line.trim(), ready);
    if (line === null) throw usageError('no provider of agents was chosen: pass --provider');
    if (!chosen) continue;
    output.write(
      `To make it the default, add under [defaults] in ${file}: provider = "${chosen}"\n`,
    );
    return chosen;
  }
}

function chosenOf(answer: string, ready: readonly ProviderRecord[]): ProviderId | null {
  return (ready.find(({ id }) => id === answer) ?? ready[Number(answer) - 1])?.id ?? null;
}
