import { expect, it } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import { isAlive } from '../../src/core/children/identity.ts';
import {
  expectHeldBack,
  expectOrderlyStop,
  keeperOf,
  poll,
  sayUntil,
  keeperDirectory,
} from '../core/children/keeper.ts';
import { startServer, startServerWithAgent } from '../support/server.ts';
import { stubbornAgent, stubbornProcesses } from './stubborn-agent.ts';

// The suite has further tests of the keeper: test/core/children/keeper.test.ts.
it('The next start ends the processes that are left if the keeper died with the server.', async () => {
  const directory = keeperDirectory();
  const server = await startServerWithAgent(directory, stubbornAgent(directory));
  await sayUntil(server, 'say here; silent', /here/);
  const { leader, hidden, away } = stubbornProcesses(directory);
  const keeper = await keeperOf(server);
  // Stopped, it cannot start another keeper.
  process.kill(server.pid, 'SIGSTOP');
  process.kill(keeper.pid, 'SIGKILL');
  await poll('the death of the keeper', () => !isAlive(keeper));
  await server.end('SIGKILL');
  expect([leader, hidden, away].map(isAlive)).toEqual([true, true, true]);

  const next = await startServer(directory);
  const recovery = await next.client.call(endpoints.getRecovery, {});
  expect(recovery.previous_stop).toBe('unclean');
  expect(recovery.orphans_killed).toEqual(expect.arrayContaining([leader.pid, away.pid]));
  await poll('the end of all orphans', () => ![leader, hidden, away].some(isAlive));

  await expectOrderlyStop(next);
});

it('The spawn barrier does not run a command if the server dies at child.registered.', () =>
  expectHeldBack('child.registered'));
