import { expect, test } from 'vitest';
import { LiveConfig } from '../../../src/core/config/live.ts';
import { configSchema } from '../../../src/core/config/schema.ts';
import type { ConfigWithToken } from '../../../src/core/config/token.ts';

function config(given: object, token = 'first-token-first-token'): ConfigWithToken {
  const parsed = configSchema.parse(given);
  return { ...parsed, auth: { ...parsed.auth, token } };
}

test('A reload applies all keys that may change at runtime, and lists them.', () => {
  const live = new LiveConfig(config({}));
  const next = config(
    {
      server: {
        allowed_hosts: ['a'],
        allowed_origins: ['http://a'],
        max_streams: 1,
        max_streams_per_token: 1,
      },
      log: { level: 'debug' },
      snapshots: { enabled: true, max_bytes: 0, max_age_days: 1 },
      processes: {
        allow_shell: false,
        max_concurrent: 1,
        max_queued: 1,
        default_timeout_ms: 1,
        kill_grace_ms: 1,
        max_output_bytes_per_process: 1024,
        max_per_session: 1,
        max_queued_per_session: 1,
        env_remove: ['A'],
        env_pass: ['A'],
      },
      teams: {
        enabled: false,
        non_lead_can_add_members: true,
        non_lead_can_remove_members: true,
        max_hops: 1,
        max_spawned_per_session: 1,
        model_presets: [{ name: 'a', provider: 'acp' }],
      },
      retention: { max_bytes: 1, max_age_days: 1, min_free_bytes: 1 },
      sessions: { turn_timeout_ms: 1, after_limit: 'wait' },
      approvals: {
        timeout_ms: 1,
        notify_command: 'true',
        max_pending_per_session: 1,
        link_base_url: 'https://a.example',
        link_expires_ms: 1000,
      },
      hooks: [{ name: 'a', kinds: ['*'], command: 'true' }],
      gateway: { free: ['cadre_process_run'] },
      providers: { idle_timeout_ms: 1, max_live: 1 },
    },
    'second-token-second-token',
  );
  const { changed, needRestart } = live.reload(next);
  expect(live.now).toEqual(next);
  expect(needRestart).toEqual([]);
  expect(changed.toSorted()).toEqual([
    'approvals.link_base_url',
    'approvals.link_expires_ms',
    'approvals.max_pending_per_session',
    'approvals.notify_command',
    'approvals.timeout_ms',
    'auth.token',
    'gateway.free',
    'hooks',
    'log.level',
    'processes.allow_shell',
    'processes.default_timeout_ms',
    'processes.env_pass',
    'processes.env_remove',
    'processes.kill_grace_ms',
    'processes.max_concurrent',
    'processes.max_output_bytes_per_process',
    'processes.max_per_session',
    'processes.max_queued',
    'processes.max_queued_per_session',
    'providers.idle_timeout_ms',
    'providers.max_live',
    'retention.max_age_days',
    'retention.max_bytes',
    'retention.min_free_bytes',
    'server.allowed_hosts',
    'server.allowed_origins',
    'server.max_streams',
    'server.max_streams_per_token',
    'sessions.after_limit',
    'sessions.turn_timeout_ms',
    'snapshots.enabled',
    'snapshots.max_age_days',
    'snapshots.max_bytes',
    'teams.enabled',
    'teams.max_hops',
    'teams.max_spawned_per_session',
    'teams.model_presets',
    'teams.non_lead_can_add_members',
    'teams.non_lead_can_remove_members',
  ]);
});

test('A reload does not apply keys that need a restart, and lists them each time until they are reset.', () => {
  const before = config({ data: { durability: 'full' } });
  const live = new LiveConfig(before);
  const next = config({
    data: { durability: 'normal' },
    server: { bind_address: '127.0.0.1:1' },
    providers: { acp: { command: 'other' } },
  });
  for (let time = 0; time < 2; time++) {
    const { changed, needRestart } = live.reload(next);
    expect(changed).toEqual([]);
    expect(needRestart).toEqual(
      expect.arrayContaining(['data.durability', 'server.bind_address', 'providers.acp.command']),
    );
    expect(live.now).toEqual(before);
  }
  expect(live.reload(config({}))).toEqual({ changed: [], needRestart: [] });
});

test('A reload applies the default agent of commands, and lists each agent that needs a restart.', () => {
  const acp = (agents: object) => ({ providers: { acp: { agents } } });
  const live = new LiveConfig(config(acp({ a: {}, b: {}, c: {} })));
  const next = config({
    ...acp({ a: {}, b: { home: '/b' }, d: {} }),
    defaults: { agent: 'a' },
  });
  expect(live.reload(next)).toEqual({
    changed: ['defaults.agent'],
    needRestart: ['b', 'c', 'd'].map((name) => `providers.acp.agents.${name}`),
  });
});
