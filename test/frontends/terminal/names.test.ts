import { expect, test } from 'vitest';
import { sharedDemo } from '../../support/demo-server.ts';
import { endpoints } from '../../../src/api/index.ts';
import { cadreOn } from '../../support/cli/cadre.ts';
import { openSession } from '../../support/turns.ts';

const server = sharedDemo();

test('Names are accepted in place of ids: titles of sessions, commands of processes, names of teams and members.', async () => {
  const cadre = cadreOn(server());
  const json = async (...args: string[]) => (await cadre([...args, '--json'])).json();
  const [lead, reviewer] = await Promise.all(
    ['the lead', 'the reviewer'].map(async (title) => {
      const { client, directory } = server();
      return (await openSession(client, directory, { title })).id;
    }),
  );
  expect(await json('sessions', 'get', 'the lead')).toMatchObject({ id: lead });
  const body = { command: 'sleep 1000', cwd: server().directory };
  const { process } = await server().client.call(endpoints.createProcess, { body });
  expect(await json('processes', 'show', 'sleep 1000')).toMatchObject({
    process_id: process.process_id,
  });
  await cadre(['teams', 'create', 'kitchen', '--lead', 'the lead']);
  await cadre(['teams', 'add', 'kitchen', 'the reviewer', '--title', 'critic']);
  expect(await json('teams', 'lead', 'kitchen', 'critic')).toMatchObject({
    team: { name: 'kitchen', lead_agent_id: reviewer },
  });
});

test('An ambiguous name is an error that lists the records, and an id has precedence over a name.', async () => {
  const cadre = cadreOn(server());
  const { client, directory } = server();
  const open = async (title: string) => (await openSession(client, directory, { title })).id;
  const [one, two] = [await open('twin'), await open('twin')];
  const several = await cadre(['sessions', 'get', 'twin']);
  expect(several.code).toBe(2);
  expect(several.stderr).toBe(
    `cadre: the title "twin" matches several sessions: pass one of the ids "twin" (${two}), "twin" (${one})\n`,
  );
  // A title that looks like the end of another session's id does not hide that session.
  await open(one.slice(-8));
  expect((await cadre(['sessions', 'get', one.slice(-8), '--json'])).json()).toMatchObject({
    id: one,
  });
  await server().client.call(endpoints.closeSession, { params: { session_id: two }, body: {} });
  expect((await cadre(['sessions', 'get', 'twin', '--json'])).json()).toMatchObject({ id: one });
});
