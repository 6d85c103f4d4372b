import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { openSession } from '../../support/turns.ts';
import { testCadre } from '../../support/cli/cadre.ts';
import { scaled } from '../../support/patience.ts';

test(
  'The command shows each part of the state of the server, as lines and as JSON.',
  { timeout: scaled(60_000) },
  async () => {
    const { cadre } = await testCadre();
    const parts = {
      all: 'recovery',
      recovery: 'previous_stop',
      providers: 'healthy',
      processes: 'running',
      worktrees: 'active',
      comms: 'deliveries',
      storage: 'latest_seq',
    };
    await Promise.all(
      Object.entries(parts).map(async ([part, field]) => {
        const shown = await cadre(['diagnostics', part]);
        expect([part, shown.code]).toEqual([part, 0]);
        expect(shown.stdout).toMatch(new RegExp(`^${field}( +|$)`, 'm'));
      }),
    );
    const json = (await cadre(['diagnostics', 'recovery', '--json'])).json();
    expect(json).toHaveProperty('previous_stop');
    const { stdout } = await cadre(['metrics']);
    expect(stdout).toMatch(/^# HELP cadre_/m);
  },
);

test(
  'One item of a turn is shown whole by cadre sessions item.',
  { timeout: scaled(60_000) },
  async () => {
    const { server, cadre } = await testCadre();
    const { id } = await openSession(server.client, server.directory);
    const sent = await cadre(['sessions', 'send', id, 'say "hello"']);
    expect(sent.code).toBe(0);
    const session = await server.client.call(endpoints.getSession, { params: { session_id: id } });
    const params = { session_id: id, turn_id: session.last_turn_id ?? '' };
    const items = await server.client.call(endpoints.listItems, { params });
    const item = items.find(({ kind }) => kind === 'message');
    const shown = await cadre(['sessions', 'item', id, item?.item_id ?? '']);
    expect(shown.stdout).toBe(`[message, completed] \n${item?.text}\n`);
  },
);
