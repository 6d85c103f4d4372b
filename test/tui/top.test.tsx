import { describe, expect, test } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import { withServer } from '../support/server.ts';
import { openSession, runTurn, send } from '../support/turns.ts';
import { keys, withScreen } from '../support/tui/stage.tsx';

const start = { page: 'top' } as const;

describe('cadre top', () => {
  test('shows the server, and what each session is at.', () =>
    withServer(async ({ client, directory }) => {
      await withScreen(client, start, async ({ expectShows, expectHides }) => {
        await expectShows(/ok .* MiB/);
        await expectShows('no session is open');
        const { id } = await openSession(client, directory, { title: 'the job' });
        await expectShows(/ready +\w{8} .*acp the job/);
        await send(client, id, 'say so far; tool npm test => ok; silent');
        await expectShows(/running .*the job +npm test: ok/);
        const { active_turn_id } = await client.call(endpoints.getSession, {
          params: { session_id: id },
        });
        const params = { session_id: id, turn_id: active_turn_id ?? '' };
        await client.call(endpoints.interruptTurn, { params, body: {} });
        await expectShows(/ready .*the job/);
        await client.call(endpoints.closeSession, { params: { session_id: id }, body: {} });
        await expectHides('the job');
      });
    }));

  test('knows what a session is at that worked before anybody looked.', () =>
    withServer(async ({ client, directory }) => {
      const { id } = await openSession(client, directory, { title: 'old job' });
      await runTurn(client, id, 'say hello');
      await send(client, id, 'tool look around => found; silent');
      await withScreen(client, start, async ({ expectShows }) => {
        await expectShows(/running .*old job +look around/);
      });
    }));

  test('interrupts a turn and ends a process, each when it is told yes.', () =>
    withServer(async ({ client, directory }) => {
      const { id } = await openSession(client, directory, { title: 'the job' });
      await send(client, id, 'silent');
      const { process } = await client.call(endpoints.createProcess, {
        body: { command: 'sleep 60' },
      });
      await withScreen(client, start, async ({ expectShows, expectHides, press }) => {
        await expectShows('sleep 60');
        await press('x');
        await expectShows('choose a process');
        await press('i');
        await expectShows('interrupt the job? [y/N]');
        await press('n');
        await expectHides('[y/N]');
        await expectShows(/running .*the job/);
        await press('i');
        await expectShows('[y/N]');
        await press('y');
        await expectShows(/ready .*the job/);
        await press(keys.down, 'x');
        await expectShows('end sleep 60? [y/N]');
        await press('y');
        await expectHides('sleep 60');
        const params = { process_id: process.process_id };
        expect(await client.call(endpoints.getProcess, { params, query: {} })).toMatchObject({
          status: 'killed',
        });
      });
    }));

  test('answers what waits, opens the events of a line, and comes back.', () =>
    withServer(async ({ client, directory }) => {
      const { id } = await openSession(client, directory, { permission_mode: 'require_approval' });
      await send(client, id, 'ask push it');
      await withScreen(client, start, async ({ expectShows, press, expectHides }) => {
        await expectShows('WAITS FOR AN ANSWER 1');
        await press(keys.enter);
        await expectShows(`session ${id.slice(-8)}`);
        await expectShows('approval.requested');
        await press('q');
        await expectShows('WAITS FOR AN ANSWER 1');
        await press('a');
        await expectShows('accept "push it"?');
        await press(keys.enter);
        await expectShows('"push it" was accepted by api');
        await expectHides('WAITS');
      });
    }));
});
