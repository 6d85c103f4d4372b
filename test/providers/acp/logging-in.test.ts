import { describe, expect, test } from 'vitest';
import { interrupt, until } from '../../support/providers/calls.ts';
import {
  endTurn,
  initialized,
  type RawAgent,
  Refusal,
  type Role,
  withRawAgent,
} from '../../support/providers/raw-agent.ts';

const apiKey = { id: 'api-key', name: 'API key', _meta: { 'api-key': { provider: 'raw' } } };
const browser = { id: 'browser', name: 'Sign in with a browser' };
const terminal = { id: 'tui', name: 'In a terminal', type: 'terminal', args: ['--login'] };

/** An agent that refuses `refused` until one of its processes was logged in to. */
function lockedRole(
  authMethods: readonly object[],
  refused: 'session/new' | 'session/resume' | 'session/prompt' = 'session/new',
): Role {
  let isLoggedIn = refused === 'session/resume';
  const refusing =
    (answer: (agent: RawAgent) => unknown) => (_params: unknown, agent: RawAgent) => {
      if (isLoggedIn) return answer(agent);
      throw new Refusal(-32_000, 'Authentication required');
    };
  return {
    methods: {
      initialize: () => initialized({ authMethods }),
      authenticate: () => {
        isLoggedIn = true;
        return {};
      },
      [refused]: refusing((agent) => {
        if (refused === 'session/new') return { sessionId: `raw-${agent.pid}` };
        if (refused === 'session/resume') return {};
        agent.say('hello');
        return endTurn;
      }),
    },
    turns: {
      'log out': (agent) => {
        isLoggedIn = false;
        agent.say('bye');
        return endTurn;
      },
    },
  };
}

const withKey = { acp: { env: { RAW_API_KEY: 'dummy' } } };

describe('an agent with an API key in its environment, which refuses until authenticate is called', () => {
  test.each(['session/new', 'session/prompt'] as const)(
    'at %s is logged in to, and its turn runs',
    (refused) =>
      withRawAgent(
        lockedRole([apiKey, browser], refused),
        async ({ open, agents }) => {
          const session = await open();
          const turn = await session.run('hello');
          expect(turn).toMatchObject({ status: 'completed', text: 'hello' });
          expect(agents[0]?.last('authenticate')?.params).toEqual({ methodId: 'api-key' });
          expect(agents[0]?.heard.filter(({ method }) => method === refused)).toHaveLength(2);
        },
        withKey,
      ),
  );

  test('when its session is resumed is logged in to, and the session goes on', () =>
    withRawAgent(
      lockedRole([apiKey], 'session/resume'),
      async ({ open, agents, diagnostics }) => {
        const session = await open();
        await session.run('log out');
        agents[0]?.exit(0);
        await until('cadre knows of it', async () => (await diagnostics()).sessions === 0);
        expect(await session.run('hello')).toMatchObject({ status: 'completed', text: 'hello' });
        expect(agents[1]?.last('authenticate')?.params).toEqual({ methodId: 'api-key' });
      },
      withKey,
    ));
});

describe('an agent that nobody is logged in to', () => {
  test('and that offers a browser alone is never made to open it by a turn', () =>
    withRawAgent(lockedRole([browser, terminal]), async ({ open, agents }) => {
      const session = await open();
      const turn = await session.run('hello');
      expect(turn).toMatchObject({ status: 'failed', error: { code: 'auth_required' } });
      expect(turn.error?.message).toContain('browser (Sign in with a browser)');
      expect(turn.error?.message).toContain('tui (In a terminal, in a terminal)');
      expect(turn.error?.message).toContain('cadre providers login acp --agent default');
      expect(agents[0]?.last('authenticate')).toBeUndefined();
      expect(await session.record()).toMatchObject({ status: 'ready', failure: null });
    }));

  test('and whose authenticate fails says why, with the methods', () => {
    const role = lockedRole([apiKey]);
    const authenticate = () => {
      throw new Refusal(-32_603, 'the key is too old');
    };
    return withRawAgent(
      { ...role, methods: { ...role.methods, authenticate } },
      async ({ open }) => {
        const turn = await (await open()).run('hello');
        expect(turn).toMatchObject({ status: 'failed', error: { code: 'auth_required' } });
        expect(turn.error?.message).toMatch(/api-key failed: the key is too old.*api-key/);
      },
      withKey,
    );
  });

  test('and that refuses after authenticate as well fails the turn, once', () => {
    const role = lockedRole([apiKey], 'session/prompt');
    return withRawAgent(
      { ...role, methods: { ...role.methods, authenticate: () => ({}) } },
      async ({ open, agents }) => {
        const turn = await (await open()).run('hello');
        expect(turn).toMatchObject({ status: 'failed', error: { code: 'auth_required' } });
        expect(agents[0]?.heard.filter(({ method }) => method === 'authenticate')).toHaveLength(1);
      },
      withKey,
    );
  });

  test('and whose turn is interrupted while it logs in is not prompted again', () => {
    const answer = Promise.withResolvers<object>();
    const role = lockedRole([apiKey], 'session/prompt');
    return withRawAgent(
      { ...role, methods: { ...role.methods, authenticate: () => answer.promise } },
      async ({ client, open, agents }) => {
        const session = await open();
        const turnId = await session.send('hello');
        await until('it logs in', () => agents[0]?.last('authenticate') !== undefined);
        await interrupt(client, session, turnId);
        await agents[0]?.hears('session/cancel');
        answer.resolve({});
        await session.watch.kind('turn.interrupted', turnId);
        const prompts = agents[0]?.heard.filter(({ method }) => method === 'session/prompt');
        expect(prompts).toHaveLength(1);
      },
      withKey,
    );
  });
});
