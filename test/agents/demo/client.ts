import {
  client,
  methods,
  type ClientContext,
  type ContentBlock,
  type PromptResponse,
  type RequestPermissionOutcome,
  type RequestPermissionRequest,
  type SessionNotification,
  type SessionUpdate,
} from '@agentclientprotocol/sdk/unstable';
import { onTestFinished } from 'vitest';
import { createDemoAgent } from '../../../src/agents/demo/agent.ts';
import type { AgentHost } from '../../../src/agents/demo/host.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';
import { testDirectory } from '../../support/temp.ts';

type AskUser = (
  request: RequestPermissionRequest,
  signal: AbortSignal,
) => RequestPermissionOutcome | Promise<RequestPermissionOutcome>;

/** A client of a demo agent in this process, after `initialize`. */
export interface TestClient {
  readonly agent: ClientContext;
  /** Every update so far, of all sessions. */
  readonly updates: SessionUpdate[];
  newSession(cwd?: string): Promise<string>;
  prompt(sessionId: string, prompt: string | ContentBlock[]): Promise<PromptResponse>;
  cancel(sessionId: string): Promise<void>;
  /** Resolves with the first update, old or new, that meets a condition. */
  update(condition: (update: SessionUpdate) => boolean): Promise<SessionUpdate>;
  /** Returns the texts of all `agent_message_chunk` updates so far, each message in brackets. */
  said(): string;
  /** Ends the connection, as a restart would, and waits until the agent has settled. */
  disconnect(): Promise<void>;
}

/** Opens a client with a session. */
export async function openSession(options?: Parameters<typeof openClient>[0]) {
  const client = await openClient(options);
  return { client, sessionId: await client.newSession() };
}

export async function openClient(
  options: { stateDir?: string; host?: Partial<AgentHost>; askUser?: AskUser } = {},
): Promise<TestClient> {
  const { stateDir = testDirectory(), askUser = choose('allow_once') } = options;
  const demo = createDemoAgent(stateDir, { ...testHost(), ...options.host });
  const updates: SessionUpdate[] = [];
  const watchers = new Set<(update: SessionUpdate) => void>();
  const connection = client({ name: 'test' })
    .onNotification(
      methods.client.session.update,
      ({ params }: { params: SessionNotification }) => {
        updates.push(params.update);
        for (const watch of watchers) watch(params.update);
      },
    )
    .onRequest(methods.client.session.requestPermission, async ({ params, signal }) => ({
      outcome: await askUser(params, signal),
    }))
    .connect(demo.app);
  const disconnect = async () => {
    connection.close();
    await demo.settled();
  };
  onTestFinished(disconnect);
  const { agent } = connection;
  await agent.request(methods.agent.initialize, { protocolVersion: 1 });

  return {
    agent,
    updates,
    async newSession(cwd = '/work') {
      const { session } = methods.agent;
      const { sessionId } = await agent.request(session.new, { cwd, mcpServers: [] });
      return sessionId;
    },
    prompt(sessionId, prompt) {
      const blocks =
        typeof prompt === 'string' ? [{ type: 'text' as const, text: prompt }] : prompt;
      return agent.request(methods.agent.session.prompt, { sessionId, prompt: blocks });
    },
    cancel: (sessionId) => agent.notify(methods.agent.session.cancel, { sessionId }),
    update(condition) {
      const known = updates.find(condition);
      if (known) return Promise.resolve(known);
      return new Promise((resolve) => {
        watchers.add((update) => {
          if (condition(update)) resolve(update);
        });
      });
    },
    said: () => saidIn(updates),
    disconnect,
  };
}

/** A user who always takes the same option. */
export function choose(optionId: string): AskUser {
  return () => ({ outcome: 'selected', optionId });
}

/** Returns the text of an `agent_message_chunk` update; undefined for all other updates. */
export function chunkOf(update: SessionUpdate): string | undefined {
  if (update.sessionUpdate !== 'agent_message_chunk') return undefined;
  return update.content.type === 'text' ? update.content.text : undefined;
}

function saidIn(updates: SessionUpdate[]): string {
  const messages = new Map<string, string>();
  for (const update of updates) {
    const text = chunkOf(update);
    if (text === undefined || update.sessionUpdate !== 'agent_message_chunk') continue;
    const id = update.messageId ?? '';
    messages.set(id, (messages.get(id) ?? '') + text);
  }
  return Array.from(messages.values(), (text) => `[${text}]`).join('');
}

let sessionCount = 0;

/** A host in which nothing happens. */
export function testHost(): AgentHost {
  return {
    env: {},
    pid: 4711,
    newSessionId: () => `session-${(sessionCount += 1)}`,
    writeRaw: () => undefined,
    sleep: (ms, signal) => systemClock.sleep(ms, signal),
    startSleeper: () => Promise.resolve(0),
    exit: (code) => {
      throw new Error(`exit ${code}: only in a process of its own`);
    },
  };
}
