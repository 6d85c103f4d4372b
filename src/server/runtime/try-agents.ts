import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Writable } from 'node:stream';
import { MCP_SESSION_VARIABLE } from '../../api/tool-names.ts';
import type { Config } from '../../core/config/schema.ts';
import { configuredProviders } from '../../agents/configured.ts';
import {
  type AgentTools,
  type NamedAgentKind,
  type Provider,
  ProviderError,
} from '../../agents/provider.ts';
import { unlessAborted } from '../../agents/agent-process.ts';
import { openBase } from './base.ts';
import { buildChildren } from './build/children.ts';
import { selfCommand } from '../../core/lib/self.ts';
import { WorktreeStore } from '../work/worktrees/store.ts';
import { Undo } from '../../core/lib/undo.ts';

/** An agent has this long to start and open a session, in milliseconds. */
const LIMIT_MS = 60_000;

export interface TriedAgent {
  name: string;
  display_name: string;
  configured: boolean;
  version: string | null;
  /** Whether it was asked to open a session. The others only start and report their login. */
  opens_session: boolean;
  /** The problem and how to solve it; null if there is none. */
  problem: string | null;
  /** The modes that it offered in its session, and those that it is said to have and did not offer. */
  modes: readonly { id: string; name: string }[];
  missing_modes: readonly (readonly [mode: string, name: string])[];
}

/**
 * Starts each agent that a server with this configuration would have, opens a session in a directory of its own, and
 * ends it. It needs no server, and leaves no process and no file of cadre's behind; what the agents write into their own
 * homes stays. Aborting `signal` ends what was started.
 */
export async function tryAgents(config: Config, signal: AbortSignal): Promise<TriedAgent[]> {
  await using undo = new Undo();
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'cadre-agents-'));
  undo.defer(() => fs.rmSync(scratch, { recursive: true, force: true }));
  const directory = path.join(scratch, 'data');
  const base = await openBase(
    {
      config: { ...config, log: { level: 'silent' }, auth: { token: null, token_file: null } },
      directory,
      logTo: new Writable({ write: (_chunk, _encoding, done) => done() }),
      onFatal(error) {
        throw error;
      },
    },
    undo,
  );
  const { supervisor, keeper } = buildChildren(base, new WorktreeStore(base));
  undo.defer(() => keeper.stop());
  const context = { supervisor, clock: base.clock, toolsFor: trialTools };
  const tried: TriedAgent[] = [];
  for (const one of agentsOf(configuredProviders(config, context))) {
    const late = new AbortController();
    using _limit = base.clock.after(LIMIT_MS, () => late.abort());
    const either = AbortSignal.any([signal, late.signal]);
    if ('isConfigured' in one) {
      const cwd = fs.mkdtempSync(path.join(scratch, 'agent-'));
      tried.push(await tryKind(one, cwd, either));
    } else tried.push(await tryProvider(one, config.providers[one.id]?.enabled === true, either));
    signal.throwIfAborted();
  }
  return tried;
}

/** The tools of a session without a server: the agent starts the same sidecar, whose tools all fail. */
function trialTools(): AgentTools {
  const { file: command, args } = selfCommand();
  return {
    others: [],
    sidecar: {
      command,
      args: [...args, 'mcp', 'serve'],
      env: {
        // Nobody listens on the discard port of this machine.
        CADRE_GATEWAY_URL: 'http://127.0.0.1:9',
        CADRE_GATEWAY_TOKEN: 'trial',
        CADRE_SESSION_ID: 'sess_trial',
        [MCP_SESSION_VARIABLE]: 'sess_trial',
      },
    },
    renew: () => undefined,
    decline: () => undefined,
    connect: () => ({ take: () => undefined, close: () => undefined }),
  };
}

/** The named agents, and the providers that have one agent, if they are enabled. */
function agentsOf(providers: readonly Provider[]): (NamedAgentKind | Provider)[] {
  return providers.flatMap((provider): readonly (NamedAgentKind | Provider)[] => {
    if (provider.kinds) return provider.kinds.list();
    return provider.enabled ? [provider] : [];
  });
}

/** Starts the agent of a provider to list its models, and reads whether it is logged in. */
async function tryProvider(
  provider: Provider,
  configured: boolean,
  signal: AbortSignal,
): Promise<TriedAgent> {
  const work = async () => {
    await unlessAborted(provider.models(), signal);
    const { authenticated, detail } = await unlessAborted(provider.authStatus(), signal);
    if (authenticated === false) throw new ProviderError('auth_required', detail);
  };
  const problem = provider.problem() ?? (await failureOf(work(), signal));
  return {
    name: provider.id,
    display_name: provider.displayName,
    configured,
    version: provider.stats().version,
    opens_session: false,
    problem,
    modes: [],
    missing_modes: [],
  };
}

async function tryKind(
  kind: NamedAgentKind,
  cwd: string,
  signal: AbortSignal,
): Promise<TriedAgent> {
  const { name, displayName: display_name, isConfigured: configured } = kind;
  const problem = kind.problem() ?? (await failureOf(kind.try(cwd, trialTools(), signal), signal));
  return {
    name,
    display_name,
    configured,
    version: kind.stats().version,
    opens_session: true,
    problem,
    modes: kind.lastModes(),
    missing_modes: kind.missingModes(),
  };
}

async function failureOf(work: Promise<void>, signal: AbortSignal): Promise<string | null> {
  try {
    await work;
    return null;
  } catch (error) {
    if (signal.aborted)
      return `the agent did not answer within ${LIMIT_MS / 1000} s: start the agent yourself, and check what it waits for`;
    if (error instanceof ProviderError) return error.message.replace(/^(?:acp|claude|codex): /, '');
    throw error;
  }
}
