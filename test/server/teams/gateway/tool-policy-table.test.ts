import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { toolNames } from '../../../../src/api/tool-names.ts';
import { toolNamespaces } from '../../../../src/api/tools.ts';
import {
  type Effect,
  verdictOf,
  verdictOfAll,
} from '../../../../src/server/teams/gateway/tool-policy-table.ts';
import {
  inheritedMode,
  inheritedModes,
} from '../../../../src/server/conversations/sessions/permission-mode.ts';
import { asMarkdown, columns, rows } from './policy-table.ts';

const effects = rows.map(({ tool, action, row }) => ({ effect: { tool, action } as Effect, row }));

test('The policy returns the verdict of its table for each mode if an approval is possible.', () => {
  for (const { effect, row } of effects)
    for (const { kind, modes } of columns)
      for (const mode of modes)
        expect([effect, mode, verdictOf(effect, { mode, asked: 'person', freed: [] })]).toEqual([
          effect,
          mode,
          row[kind],
        ]);
});

test('The policy refuses what needs an approval if no approval is possible.', () => {
  for (const { effect, row } of effects)
    for (const { kind, modes } of columns)
      for (const mode of modes)
        expect(verdictOf(effect, { mode, asked: 'nobody', freed: [] })).toBe(
          row[kind] === 'ask' ? 'refuse' : row[kind],
        );
});

test('The policy allows the operator everything.', () => {
  for (const { effect } of effects)
    for (const mode of columns.flatMap(({ modes }) => [...modes]))
      expect(verdictOf(effect, { mode, asked: 'operator', freed: [] })).toBe('free');
});

test('A freed tool needs no approval except in a read_only turn, and no other tool is affected.', () => {
  for (const { effect, row } of effects)
    for (const { kind, modes } of columns)
      for (const mode of modes)
        for (const asked of ['person', 'nobody'] as const) {
          const freed = verdictOf(effect, { mode, asked, freed: [effect.tool] });
          const other = verdictOf(effect, { mode, asked, freed: [] });
          const isFreed = kind !== 'read_only' && row[kind] === 'ask';
          expect(freed).toBe(isFreed ? 'free' : other);
          const others = toolNames.filter((name) => name !== effect.tool);
          expect(verdictOf(effect, { mode, asked, freed: others })).toBe(other);
        }
});

test('A call with several effects gets the strictest of their verdicts.', () => {
  const tool = 'cadre_team_manage';
  const all = (mode: string | null, ...actions: string[]) =>
    verdictOfAll(
      actions.map((action) => ({ tool, action }) as Effect),
      { mode, asked: 'person', freed: [] },
    );
  expect(all('workspace_write', 'add_member', 'create_worktree')).toBe('free');
  expect(all('workspace_write', 'add_member', 'create_worktree', 'run_init_script')).toBe('ask');
  expect(all('read_only', 'image_outside_cwd', 'create_worktree')).toBe('refuse');
});

test('The policy has a row for every tool.', () => {
  const described = Object.values(toolNamespaces).flatMap((tools) => Object.keys(tools));
  expect(described.toSorted()).toEqual([...toolNames].toSorted());
  expect([...new Set(rows.map(({ tool }) => tool))]).toEqual([...toolNames]);
});

test('The policy equals the table in docs/permissions.md.', () => {
  const page = path.join(import.meta.dirname, '../../../../docs/permissions.md');
  const shown = fs.readFileSync(page, 'utf8').replaceAll(/ {2,}/g, ' ').replaceAll(/-{3,}/g, '---');
  expect(shown).toContain(asMarkdown());
});

test('A mode is handed on as it is, but an agent’s own mode to another provider becomes require_approval.', () => {
  for (const mode of [null, ...columns.flatMap(({ modes }) => [...modes])])
    expect(inheritedMode(mode, true)).toBe(mode);
  for (const mode of [null, 'default', 'read_only', 'workspace_write', 'full_access'])
    expect(inheritedMode(mode, false)).toBe(mode);
  for (const mode of ['plan', 'never', 'bypassPermissions', 'constructor'])
    expect(inheritedMode(mode, false)).toBe('require_approval');
});

test('The agent’s own mode is handed on to the same agent; another one asks a person, or stays read_only.', () => {
  const plan = { mode: null, agentMode: 'plan' };
  expect(inheritedModes(plan, true, 'yolo')).toEqual(plan);
  const asks = { mode: 'require_approval', agentMode: null };
  for (const mode of [null, 'default', 'require_approval', 'full_access', 'yolo'])
    expect(inheritedModes({ ...plan, mode }, false, 'yolo')).toEqual(asks);
  const readOnly = { mode: 'read_only', agentMode: null };
  expect(inheritedModes({ ...readOnly, agentMode: 'plan' }, false, 'yolo')).toEqual(readOnly);
  // The operator's mode for such members holds only where no mode of the turn says what they may do.
  expect(inheritedModes({ mode: null, agentMode: null }, true, 'yolo').agentMode).toBe('yolo');
  for (const mode of ['require_approval', 'read_only', 'workspace_write'])
    expect(inheritedModes({ mode, agentMode: null }, true, 'yolo').agentMode).toBeNull();
});
