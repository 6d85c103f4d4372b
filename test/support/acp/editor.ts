import {
  client,
  type ClientCapabilities,
  type ClientContext,
  type ContentBlock,
  type CreateElicitationRequest,
  type CreateElicitationResponse,
  type InitializeResponse,
  methods,
  type NewSessionRequest,
  type NewSessionResponse,
  type PromptResponse,
  type RequestPermissionOutcome,
  type RequestPermissionRequest,
  type SessionUpdate,
} from '@agentclientprotocol/sdk/unstable';
import { onTestFinished } from 'vitest';
import { type AgentOptions, createCadreAgent } from '../../../src/frontends/editor/agent.ts';
import { ServerLink } from '../../../src/frontends/editor/server-link.ts';
import { type Client, HttpClient } from '../../../src/client/client.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';

/** The server that the agent of an editor finds; a test may replace it. */
export interface Place {
  url: string;
  token: string;
}

export type AskUser = (
  request: RequestPermissionRequest,
  signal: AbortSignal,
) => RequestPermissionOutcome | Promise<RequestPermissionOutcome>;

export interface EditorOptions {
  askUser?: AskUser;
  /** Makes the editor support forms. */
  fillForm?: (request: CreateElicitationRequest) => CreateElicitationResponse;
  capabilities?: ClientCapabilities;
  connect?: () => Promise<Client>;
  /** The parameters of new sessions, in addition to their directory. */
  opening?: object;
  fixed?: string;
}

/** An editor that is connected to cadre as its agent, in this process, by the SDK's own client. */
export interface Editor {
  agent: ClientContext;
  hello: InitializeResponse;
  /** All updates so far, in order, with their sessions. */
  updates: (SessionUpdate & { sessionId: string })[];
  open(cwd: string, more?: Partial<NewSessionRequest>): Promise<NewSessionResponse>;
  prompt(sessionId: string, prompt: string | ContentBlock[]): Promise<PromptResponse>;
  cancel(sessionId: string): Promise<void>;
  /** Resolves with the first update, old or new, that meets a condition. */
  untilUpdate(condition: (update: SessionUpdate) => boolean): Promise<SessionUpdate>;
  /** Returns the joined texts of all chunks of a kind so far. */
  text(kind?: 'agent_message_chunk' | 'agent_thought_chunk' | 'user_message_chunk'): string;
  leave(): void;
}

/** Opens an editor without initializing its connection. */
export function connectEditor(place: Place, options: EditorOptions = {}) {
  const link = new ServerLink(
    options.connect ?? (() => Promise.resolve(new HttpClient(place))),
    systemClock,
  );
  const app = createCadreAgent({
    link,
    clock: systemClock,
    version: '9.8.7',
    opening: (_client, cwd) =>
      Promise.resolve({
        provider: 'acp',
        cwd,
        permission_mode: 'require_approval',
        ...options.opening,
      } as Awaited<ReturnType<AgentOptions['opening']>>),
    fixed: options.fixed === undefined ? null : () => Promise.resolve(options.fixed ?? ''),
  });
  const updates: Editor['updates'] = [];
  const watchers = new Set<() => void>();
  const { askUser = choose('once'), fillForm } = options;
  const connection = client({ name: 'editor' })
    .onNotification(methods.client.session.update, ({ params }) => {
      updates.push({ ...params.update, sessionId: params.sessionId });
      for (const watch of watchers) watch();
    })
    .onRequest(methods.client.session.requestPermission, async ({ params, signal }) => ({
      outcome: await askUser(params, signal),
    }))
    .onRequest(methods.client.elicitation.create, ({ params }) => {
      if (!fillForm) throw new Error('this editor shows no forms');
      return fillForm(params);
    })
    .connect(app);
  const leave = () => {
    connection.close();
    link.close();
  };
  onTestFinished(leave);
  return { agent: connection.agent, updates, watchers, leave };
}

export async function openEditor(place: Place, options: EditorOptions = {}): Promise<Editor> {
  const { agent, updates, watchers, leave } = connectEditor(place, options);
  const forms = options.fillForm ? { elicitation: { form: {} } } : {};
  const clientCapabilities: ClientCapabilities = { ...forms, ...options.capabilities };
  const hello = await agent.request(methods.agent.initialize, {
    protocolVersion: 1,
    clientCapabilities,
  });
  return {
    agent,
    hello,
    updates,
    leave,
    open: (cwd, more) => agent.request(methods.agent.session.new, { cwd, mcpServers: [], ...more }),
    prompt(sessionId, prompt) {
      const blocks: ContentBlock[] =
        typeof prompt === 'string' ? [{ type: 'text', text: prompt }] : prompt;
      return agent.request(methods.agent.session.prompt, { sessionId, prompt: blocks });
    },
    cancel: (sessionId) => agent.notify(methods.agent.session.cancel, { sessionId }),
    untilUpdate(condition) {
      const { promise, resolve } = Promise.withResolvers<SessionUpdate>();
      const look = () => {
        const found = updates.find(condition);
        if (!found) return;
        watchers.delete(look);
        resolve(found);
      };
      watchers.add(look);
      look();
      return promise;
    },
    text: (kind = 'agent_message_chunk') =>
      updates
        .flatMap((update) => (update.sessionUpdate === kind ? [textOf(update.content)] : []))
        .join(''),
  };
}

/** A user who always takes the same option. */
export function choose(optionId: string): AskUser {
  return () => ({ outcome: 'selected', optionId });
}

function textOf(content: ContentBlock): string {
  return content.type === 'text' ? content.text : `[${content.type}]`;
}
