import path from 'node:path';
import type { Model } from '../../api/providers.ts';
import type { Supervisor } from '../../children/supervisor.ts';
import type { Clock } from '../../lib/clock.ts';
import { agentEnvironment } from '../../children/environment.ts';
import { isInstalled, problemOf } from '../installed.ts';
import { Known } from '../known.ts';
import { ownHome } from '../own-home.ts';
import type { AgentTools, Provider } from '../provider.ts';
import { askClaude, type ClaudeOptions, openClaude } from './agent.ts';
import { askStatus, endLogin, readKey, removeKey, writeKey } from './login.ts';
import { objectionTo } from './settings.ts';
import { listTranscripts } from './transcripts.ts';

/** How claude is configured; `[providers.claude]`. */
export interface ClaudeSettings {
  /** Null: where it is installed. */
  enabled: boolean | null;
  command: string;
  /** Before the arguments of ours. */
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  /** A configuration directory for claude that is cadre's alone; null: the user's own. */
  home: string | null;
}

/** A list of models is good for so long. */
const MODELS_MS = 600_000;

/** Claude Code, one process a session. */
export function claudeProvider(given: {
  settings: ClaudeSettings;
  supervisor: Supervisor;
  clock: Clock;
  toolsFor: (sessionId: string) => AgentTools;
}): Provider {
  const { settings, clock } = given;
  const { command, args, env } = settings;
  const home = settings.home === null ? null : path.resolve(settings.home);
  const problem = () => problemOf('claude', 'Claude Code', settings);
  const known = new Known();
  let models: { list: Model[]; at: number } | undefined;
  let modes: readonly string[] | null = null;

  const withoutKey = (): Record<string, string> =>
    agentEnvironment(process.env, {
      ...env,
      ...(home === null ? {} : { CLAUDE_CONFIG_DIR: home }),
    });
  /** A key of cadre's own is read for each process, and given to claude alone. */
  const environment = async (): Promise<Record<string, string>> => {
    const key = home === null ? null : await readKey(home);
    return { ...withoutKey(), ...(key === null ? {} : { ANTHROPIC_API_KEY: key }) };
  };
  const options = async (signal: AbortSignal): Promise<ClaudeOptions> => ({
    ...given,
    command,
    args,
    env: await environment(),
    hasOwnHome: home !== null,
    signal,
    onUnknown: () => known.unknownMessages++,
    starting: (start) => known.started(start, signal),
    modes: () => modes,
    onModes: (told) => (modes = told),
    onInitialized: (said) => {
      // Another version may have others.
      if (known.version !== said.version) modes = null;
      known.version = said.version;
      models = { list: said.models, at: clock.monotonic() };
    },
  });
  const asked = async () => ({ ...given, command, args, env: await environment() });
  const transcripts = () => listTranscripts(configDirectory(withoutKey()));
  const authStatus = async () => {
    const wrong = problem();
    if (wrong !== null)
      return { authenticated: false, mode: 'not_configured' as const, detail: wrong };
    return askStatus(await asked(), home !== null);
  };
  const privateHome = () =>
    ownHome('claude', home, { login: 'claude auth login', logout: 'claude auth logout' });

  return {
    id: 'claude',
    displayName: 'Claude Code',
    get enabled() {
      return settings.enabled ?? isInstalled(settings);
    },
    capabilities: {
      images: true,
      approvals: true,
      interrupt: true,
      resume: true,
      usage: true,
      models: true,
    },
    problem,
    startFailure: () => known.startFailure,
    objection: (wanted) => objectionTo(wanted, models?.list ?? [], withoutKey(), modes),
    stats: () => known.stats(command),
    authStatus,
    login: {
      async setKey(key) {
        writeKey(privateHome(), key);
        return authStatus();
      },
      async end() {
        removeKey(privateHome());
        if (problem() === null) await endLogin(await asked());
        return authStatus();
      },
    },
    async models() {
      if (!models || clock.monotonic() - models.at > MODELS_MS)
        await known.noted(askClaude(process.cwd(), await options(new AbortController().signal)));
      return models?.list ?? [];
    },
    listed: () => transcripts(),
    has: async ({ ref, isEmpty }) => isEmpty || ((await transcripts())?.has(ref) ?? true),
    open: async (session, sink, signal) =>
      known.noted(openClaude(session, sink, await options(signal)), signal),
  };
}

/** Where claude keeps its sessions. */
function configDirectory(env: Readonly<Record<string, string>>): string {
  return env.CLAUDE_CONFIG_DIR ?? path.join(env.HOME ?? '/', '.claude');
}
