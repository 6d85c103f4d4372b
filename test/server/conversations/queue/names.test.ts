import { expect, it } from 'vitest';
import { testHarness, testSession } from '../../../support/sessions/harness.ts';

it('A time zone without a time, and an unknown time zone, are refused for new and changed entries.', async () => {
  const { harness, session } = await testSession();
  const queue = `/v1/sessions/${session.id}/queue`;
  const input = { type: 'text', text: 'later' };
  const at = harness.clock.now() + 3_600_000;
  for (const body of [
    { time_zone: 'UTC' },
    { time_zone: 'Mars/Base', at },
    { time_zone: '', at },
    { time_zone: 'UTC', at: null, every: null },
  ]) {
    const { status, body: refusal } = await harness.post<{ error: string }>(queue, {
      input,
      ...body,
    });
    expect([status, refusal.error]).toEqual([400, expect.stringContaining('body.time_zone')]);
  }
  await harness.post(`${queue}/pause`, {});
  const { body: entry } = await harness.post<{ id: string }>(queue, { input });
  const edit = (body: object) => harness.patch<{ error: string }>(`/v1/queue/${entry.id}`, body);
  expect((await edit({ time_zone: 'UTC' })).status).toBe(400);
  expect((await edit({ time_zone: 'UTC', at })).status).toBe(200);
  expect((await edit({ time_zone: 'Europe/Berlin' })).status).toBe(200);
  expect((await edit({ at: null })).status).toBe(200);
});

it('A time that no date can have is refused.', async () => {
  const { harness, session } = await testSession();
  const input = { type: 'text', text: 'later' };
  const late = 8.64e15 + 1;
  for (const [method, route, body] of [
    ['post', `/v1/sessions/${session.id}/queue`, { input, at: late }],
    ['post', `/v1/sessions/${session.id}/queue/pause`, { until: late }],
    ['patch', `/v1/sessions/${session.id}`, { snoozed_until: late }],
  ] as const)
    expect((await harness[method](route, body)).status).toBe(400);
  for (const route of [
    `/v1/usage?since=${late}`,
    `/v1/usage?until=${late}`,
    `/v1/search?q=a&since=${late}`,
  ])
    expect((await harness.get(route)).status).toBe(400);
});

it('Names and titles that people give have a visible character, in every request.', async () => {
  const { harness, session } = await testSession();
  const team = { lead_agent_id: session.id };
  const { body: made } = await harness.post<{ team: { id: string } }>('/v1/teams', {
    ...team,
    name: 'a',
  });
  const input = { type: 'text', text: 'later' };
  await harness.post(`/v1/sessions/${session.id}/queue/pause`, {});
  const { body: entry } = await harness.post<{ id: string }>(`/v1/sessions/${session.id}/queue`, {
    input,
    name: 'one',
  });
  const blank = ['', ' ', '\t\n', '\u00a0'];
  const unseen = ['\u200b', '\u2060\ufeff', ' \u200d ', '\u3164', '\ufe0f', '\u2800', '\u{e0041}'];
  for (const name of [...blank, ...unseen])
    for (const [method, route, body] of [
      ['post', '/v1/sessions', { provider: 'claude', title: name }],
      ['patch', `/v1/sessions/${session.id}`, { title: name }],
      ['post', `/v1/sessions/${session.id}/queue`, { input, name }],
      ['patch', `/v1/queue/${entry.id}`, { name }],
      ['post', '/v1/teams', { ...team, name }],
      ['post', `/v1/teams/${made.team.id}/members`, { agent_id: session.id, title: name }],
      ['post', '/v1/tokens', { name, scope: 'admin' }],
    ] as const) {
      const { status, body: refusal } = await harness[method]<{ error: string }>(route, body);
      const field = 'title' in body ? 'body.title' : 'body.name';
      expect([route, status, refusal.error]).toEqual([route, 400, expect.stringContaining(field)]);
    }
});

it('A name may have invisible characters between visible ones, such as the parts of an emoji.', async () => {
  const harness = await testHarness();
  for (const title of ['👩‍💻', '❤️', 'نمی‌خواهم', '☺']) {
    const { status, body } = await harness.post('/v1/sessions', { provider: 'acp', title });
    expect([status, body]).toEqual([200, expect.objectContaining({ title })]);
  }
});

it('A search is refused a directory that is not absolute.', async () => {
  const harness = await testHarness();
  for (const cwd of ['src', './src', '../src', '~', '~/src', '']) {
    const { status, body } = await harness.get<{ error: string }>(
      `/v1/search?q=a&cwd=${encodeURIComponent(cwd)}`,
    );
    expect([cwd, status, body.error]).toEqual([cwd, 400, expect.stringContaining('query.cwd')]);
  }
  expect((await harness.get('/v1/search?q=a&cwd=%2Fsrc')).status).toBe(200);
});
