import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { testRuntime } from '../../support/runtime.ts';
import { completed, scriptedProvider } from '../../support/scripted-provider.ts';
import { keys, testScreen } from './test-screen.tsx';
import { openSession } from '../../support/turns.ts';

const start = { page: 'top' } as const;

function providerWithModels() {
  const provider = scriptedProvider({ capabilities: { approvals: true, models: true } });
  const model = (id: string, display_name: string) => ({ id, display_name, reasoning_levels: [] });
  const models = () => Promise.resolve([model('small', 'Fast'), model('large', 'Thorough')]);
  return Object.assign(provider, { models });
}

test('The model and mode that a person selects are kept with the session, and apply from the next turn on.', async () => {
  const provider = providerWithModels();
  const { client, directory } = await testRuntime({ providers: [provider] });
  await openSession(client, directory, { title: 'other' });
  const { id } = await openSession(client, directory, { title: 'the job' });
  const session = () => client.call(endpoints.getSession, { params: { session_id: id } });
  const { expectShows, expectHides, press } = testScreen(client, start);
  await expectShows('▌○  the job');
  await press('i', 'first', keys.enter);
  const first = await provider.nextTurn();
  // A running turn keeps its settings.
  await expectShows(/◐ +the job/);
  await expectHides('⏎ send');
  await press('c').shows(/● model: default +Default model of the agent/);
  await expectShows(/○ model: large +Thorough/);
  await expectShows(/○ mode: read_only +only reads; other requests are declined/);
  await press('j', 'j', keys.enter).shows('● model: large');
  await expectShows('From the next turn on: model: large');
  await press('j', 'j', 'j', keys.enter).shows('● mode: read_only');
  await press(keys.escape).hides('● mode: read_only');
  expect(first.settings).toMatchObject({ model: null, permissionMode: null });
  first.end(completed);
  await expectHides('◐');
  await press('i', 'second', keys.enter);
  const second = await provider.nextTurn();
  expect(second.settings).toMatchObject({ model: 'large', permissionMode: 'read_only' });
  second.end(completed);
  await expectHides('⏎ send');
  await expectHides('◐');
  expect(await session()).toMatchObject({ model: 'large', permission_mode: 'read_only' });
  // Another screen shows the same settings.
  const another = testScreen(client, start);
  await another.expectShows(/▌.+the job/);
  await another.press('c').shows('● mode: read_only');
  await another.press(keys.enter).shows('● model: default');
  await another.press(keys.escape);
  expect(await session()).toMatchObject({ model: null, permission_mode: 'read_only' });
});

test('An agent without models still offers its modes, with the reason why there are no models.', async () => {
  const provider = scriptedProvider({ capabilities: { approvals: true } });
  const { client, directory } = await testRuntime({ providers: [provider] });
  await openSession(client, directory, { title: 'the job' });
  const { expectShows, press } = testScreen(client, start);
  await expectShows('▌○  the job');
  await press('c').shows(/mode: full_access/);
  await expectShows(/cannot list the models: |↑ ↓ select {2}⏎ apply/);
});
