import { expect, test } from 'vitest';
import { defaultStateDir } from '../../../src/agents/demo/state-directory.ts';

test.each([
  [{ CADRE_DEMO_STATE: '/demo', XDG_STATE_HOME: '/xdg' }, '/demo'],
  [{ CADRE_DEMO_STATE: '', XDG_STATE_HOME: '/xdg' }, '/xdg/cadre-demo-agent'],
  [{ XDG_STATE_HOME: 'relative' }, '/home/me/.local/state/cadre-demo-agent'],
  [{}, '/home/me/.local/state/cadre-demo-agent'],
])('With %j, sessions are stored in %s.', (env, expected) => {
  expect(defaultStateDir(env, '/home/me')).toBe(expected);
});
