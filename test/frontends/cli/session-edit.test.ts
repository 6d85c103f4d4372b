import { expect, test } from 'vitest';
import type { Session } from '../../../src/api/sessions.ts';
import { cadreOn } from '../../support/cli/cadre.ts';
import { demoSection } from '../../support/providers/demo-agents.ts';
import { sharedRuntime } from '../../support/runtime.ts';

const withDemo = sharedRuntime({
  config: { providers: { acp: { agents: { demo: demoSection({ asks: true }) } } } },
});

test('The command sessions edit changes and removes the model and the modes of a session.', async () => {
  const server = withDemo();
  const cadre = cadreOn(server);
  const create = ['sessions', 'create', '--provider', 'acp', '--title', 'job', '--json'];
  const { id } = (await cadre(create)).json() as Session;
  const edit = (...more: string[]) => cadre(['sessions', 'edit', 'job', ...more]);
  expect(await edit('--permission-mode', 'read_only', '--model', 'demo')).toMatchObject({
    code: 0,
    stdout: `Updated session "job" (${id}) from its next turn on: permission mode read_only, model demo\n`,
  });
  expect((await edit('--agent-mode', 'full_access')).stdout).toContain('agent mode full_access');
  const shown = (await edit('--model', '', '--permission-mode', '', '--json')).json();
  expect(shown).toMatchObject({ model: null, permission_mode: null, agent_mode: 'full_access' });
});

test('The command sessions edit refuses an unknown mode and a call without an option.', async () => {
  const server = withDemo();
  const cadre = cadreOn(server);
  const create = ['sessions', 'create', '--provider', 'acp', '--json'];
  const { id } = (await cadre(create)).json() as Session;
  const unknown = await cadre(['sessions', 'edit', id, '--permission-mode', 'nonsense']);
  expect(unknown).toMatchObject({ code: 2 });
  expect(unknown.stderr).toContain('unknown permission mode "nonsense"');
  const nothing = await cadre(['sessions', 'edit', id]);
  expect(nothing).toMatchObject({ code: 2 });
  expect(nothing.stderr).toContain('there is nothing to change');
});
