import { expect, test } from 'vitest';
import type { ProviderRecord } from '../../src/api/providers.ts';
import { preferredProvider, settingsFor } from '../../src/client/defaults.ts';

const none = {
  provider: { byVariable: null, byFile: null },
  agent: null,
  model: null,
  effort: null,
  permission_mode: null,
  person_mode: 'require_approval',
};

function provider(id: ProviderRecord['id'], more: Partial<ProviderRecord> = {}): ProviderRecord {
  const about = { display_name: id, detail: '', capabilities: {}, default: false };
  return { id, enabled: true, healthy: true, ...about, ...more } as ProviderRecord;
}

const both = [provider('acp'), provider('codex')];

test('The provider of a new session is the only one that is ready.', () => {
  const others = [provider('codex', { healthy: false }), provider('claude', { enabled: false })];
  expect(preferredProvider([provider('acp'), ...others], none)).toBe('acp');
});

test('The provider of a new session is left open where several are ready, or none.', () => {
  expect(preferredProvider(both, none)).toBeNull();
  expect(preferredProvider([], none)).toBeNull();
});

test('The provider of a new session is the one that the file names, the one that the server prefers, or the one of the variable.', () => {
  const file = { ...none, provider: { byVariable: null, byFile: 'codex' as const } };
  expect(preferredProvider(both, file)).toBe('codex');
  const preferring = [provider('acp', { default: true }), provider('codex')];
  expect(preferredProvider(preferring, file)).toBe('acp');
  const variable = { ...none, provider: { byVariable: 'claude' as const, byFile: null } };
  expect(preferredProvider(preferring, variable)).toBe('claude');
});

test('A model and an effort are for the provider that the defaults name; the mode is for each.', () => {
  const defaults = {
    provider: { byVariable: null, byFile: 'claude' as const },
    agent: null,
    model: 'opus',
    effort: 'high',
    permission_mode: 'read_only',
    person_mode: 'require_approval',
  };
  expect(settingsFor('claude', defaults)).toEqual({
    agent: null,
    model: 'opus',
    thinking_effort: 'high',
    permission_mode: 'read_only',
  });
  expect(settingsFor('codex', defaults)).toEqual({
    agent: null,
    model: null,
    thinking_effort: null,
    permission_mode: 'read_only',
  });
});

test('An agent that the defaults name is one of acp, and chooses acp where they name no provider.', () => {
  const defaults = { ...none, agent: 'gemini', model: 'pro' };
  expect(preferredProvider([provider('acp'), provider('codex')], defaults)).toBe('acp');
  const file = { ...defaults, provider: { byVariable: null, byFile: 'codex' as const } };
  expect(preferredProvider([], file)).toBe('codex');
  expect(settingsFor('acp', file)).toMatchObject({ agent: 'gemini', model: null });
  expect(settingsFor('codex', file)).toMatchObject({ agent: null, model: 'pro' });
});

test('A model is for the agent that the defaults name, and no other.', () => {
  const defaults = { ...none, agent: 'gemini', model: 'pro' };
  expect(settingsFor('acp', defaults)).toMatchObject({ agent: 'gemini', model: 'pro' });
  expect(settingsFor('acp', defaults, 'gemini')).toMatchObject({ agent: 'gemini', model: 'pro' });
  expect(settingsFor('acp', defaults, 'qwen')).toMatchObject({ agent: 'qwen', model: null });
  expect(settingsFor('codex', defaults)).toMatchObject({ agent: null, model: null });
});
