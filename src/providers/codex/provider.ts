import fs from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import type { Supervisor } from '../../children/supervisor.ts';
import type { Clock } from '../../lib/clock.ts';
import { agentEnvironment } from '../../children/environment.ts';
import { isInstalled, problemOf } from '../installed.ts';
import { Known } from '../known.ts';
import { ownHome } from '../own-home.ts';
import type { AgentTools, Provider } from '../provider.ts';
import { isGone, openCodex } from './agent.ts';
import { AppServer } from './app-server.ts';
import { makeHome, readAccount, writeAuth } from './login.ts';
import { type CodexModel, listAll, listModels } from './models.ts';
import { objectionTo } from './settings.ts';
import { SharedServer } from './shared-server.ts';

/** How codex is configured; `[providers.codex]`. */
export interface CodexSettings {
  /** Null: where it is installed. */
  enabled: boolean | null;
  command: string;
  /** Before the arguments of ours. */
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  /** A home for codex that is cadre's alone; null: the user's own. */
  home: string | null;
}

/** A list of models is good for so long. */
const MODELS_MS = 600_000;

/** OpenAI Codex, one app-server for all sessions. */
export function codexProvider(given: {
  settings: CodexSettings;
  supervisor: Supervisor;
  clock: Clock;
  toolsFor: (sessionId: string) => AgentTools;
}): Provider {
  const { settings, supervisor, clock, toolsFor } = given;
  const { command, args } = settings;
  const home = settings.home === null ? null : path.resolve(settings.home);
  const problem = () => problemOf('codex', 'codex', settings);
  const known = new Known();
  const onUnknown = () => known.unknownMessages++;
  let models: { list: CodexModel[]; at: number } | undefined;

  const shared = new SharedServer(clock, async () => {
    if (home !== null) makeHome(home);
    const ownHome = home === null ? {} : { CODEX_HOME: home };
    const env = agentEnvironment(process.env, { ...settings.env, ...ownHome });
    const onVersion = (version: string | null) => (known.version = version);
    const onLost = (said: string) => known.note(said);
    const start = { command, args, env, supervisor, clock, onUnknown, onVersion, onLost };
    return known.started(() => AppServer.start(start));
  });
  const ask = (method: string, params: object, signal?: AbortSignal) =>
    shared.use((server) => server.ask(method, params), signal);
  const listed = async (signal?: AbortSignal): Promise<CodexModel[]> => {
    if (!models || clock.monotonic() - models.at > MODELS_MS) {
      const list = await listModels((method, params) => ask(method, params, signal));
      models = { list, at: clock.monotonic() };
    }
    return models.list;
  };
  const authStatus = async () => {
    const wrong = problem();
    if (wrong !== null)
      return { authenticated: false, mode: 'not_configured' as const, detail: wrong };
    return readAccount(await ask('account/read', {}), home !== null);
  };
  const privateHome = () =>
    ownHome('codex', home, { login: 'codex login', logout: 'codex logout' });

  return {
    id: 'codex',
    displayName: 'OpenAI Codex',
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
    objection: (wanted) => objectionTo(wanted, null, models?.list ?? []),
    stats: () => ({ ...known.stats(command), pid: shared.pid }),
    authStatus: () => known.noted(authStatus()),
    login: {
      async setKey(apiKey) {
        privateHome();
        await ask('account/login/start', { type: 'apiKey', apiKey });
        return authStatus();
      },
      async import(auth) {
        writeAuth(privateHome(), auth);
        // One that runs has read the login before.
        await shared.retire();
        return authStatus();
      },
      async end() {
        privateHome();
        await ask('account/logout', {});
        return authStatus();
      },
    },
    async models() {
      const list = await known.noted(listed());
      return list.map(({ id, display_name, reasoning_levels }) => ({
        id,
        display_name,
        reasoning_levels,
      }));
    },
    listed: (signal) =>
      known.noted(
        listAll((method, params) => ask(method, params, signal), 'thread/list', {
          limit: 100,
          modelProviders: [],
          sourceKinds: [],
        }).then((threads) => new Set(threads.flatMap(idOf))),
        signal,
      ),
    has: ({ ref, isEmpty }, signal) => {
      const read = (more: object) => ask('thread/read', { threadId: ref, ...more }, signal);
      return known.noted(hasThread(read, isEmpty), signal);
    },
    open: (session, sink, signal) =>
      known.noted(
        (async () => {
          const about = { hasOwnHome: home !== null, models: await listed(signal) };
          const options = { clock, signal, ...about, toolsFor, onUnknown };
          return openCodex(session, sink, await shared.lease(signal), options);
        })(),
        signal,
      ),
  };
}

const thread = z.looseObject({ id: z.string(), path: z.string().nullish().catch(null) });
const answer = z.looseObject({ thread });

/** The thread of an answer, unless the file that codex keeps it in is gone: its database may name it still. */
function idOf(raw: unknown): string[] {
  const { data } = thread.safeParse(raw);
  return data && !isLost(data) ? [data.id] : [];
}

function isLost({ path: file }: z.output<typeof thread>): boolean {
  return typeof file === 'string' && !fs.existsSync(file);
}

/** Whether codex has a thread still. Of one whose file is gone it has to give the turns: only then it looks there. */
async function hasThread(
  read: (more: object) => Promise<unknown>,
  isEmpty: boolean,
): Promise<boolean> {
  try {
    const found = answer.safeParse(await read({})).data?.thread;
    if (found && isLost(found) && !isEmpty) await read({ includeTurns: true });
    return true;
  } catch (error) {
    if (isGone(error)) return false;
    throw error;
  }
}
