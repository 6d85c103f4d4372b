import path from 'node:path';
import { expect, test } from 'vitest';
import type { Session } from '../../../../src/api/sessions.ts';
import { ToolPolicy } from '../../../../src/server/teams/gateway/tool-policy.ts';
import {
  type InitScripts,
  TeamToolPolicy,
} from '../../../../src/server/teams/gateway/team-tool-policy.ts';
import type { AgentAnswer, AgentRequest } from '../../../../src/agents/provider.ts';
import { tempDirectory } from '../../../support/temp.ts';
import { aSession } from '../../../support/records.ts';

const script = { repo_root: '/repo', sha256: 'abc', text: '#!/bin/sh\nmake\n', trusted: false };
const tree = { repo_root: '/repo', worktree_name: 'tree', branch: 'cadre/tree' };
const wanted = { team_id: 'team_1', title: 'tester', worktree_name: 'tree' };

interface Scene {
  mode: string | null;
  canAsk?: boolean;
  isOperator?: boolean;
  answer?: AgentAnswer;
  found?: Awaited<ReturnType<InitScripts['look']>>;
}

/** Asks for a member with a worktree; answers what people were asked, and what was consented to. */
async function wantMember({ mode, canAsk = true, isOperator = false, ...scene }: Scene) {
  await using place = tempDirectory('gate');
  const asked: AgentRequest[] = [];
  const allowed: string[][] = [];
  const toolPolicy = new ToolPolicy({
    sessions: { permission: async () => ({ mode, agentMode: null, canAsk }) },
    runner: {
      async ask(_session, request) {
        expect(allowed).toEqual([]);
        asked.push(request);
        return scene.answer ?? { decision: 'accept', scope: 'once', answers: null };
      },
    },
    freed: () => [],
    allowsSandboxed: async () => false,
  });
  const gate = new TeamToolPolicy({
    toolPolicy,
    previewWorktree: async () => tree,
    hasWorktree: async () => false,
    filesOf: () => undefined,
    initScripts: {
      look: async () => (scene.found === undefined ? script : scene.found),
      async trustRoot(...what) {
        allowed.push(what);
      },
    },
  });
  const session: Session = { ...aSession(), cwd: path.resolve(place.path) };
  const caller = { id: session.id, session, isOperator, signal: new AbortController().signal };
  let runsScript = false;
  let error: { code: string } | null = null;
  try {
    ({ runsScript } = await gate.member(caller, wanted));
  } catch (failure) {
    error = failure as { code: string };
  }
  return { asked, allowed, error, session, runsScript };
}

test('An approval shows the whole init script with the worktree, and its acceptance trusts the script.', async () => {
  for (const mode of [null, 'require_approval', 'workspace_write']) {
    const { asked, allowed, error, session } = await wantMember({ mode });
    expect(error).toBeNull();
    expect(asked).toHaveLength(1);
    const [request] = asked;
    expect(request).toMatchObject({ kind: 'command' });
    expect(request?.title).toContain('cadre/tree');
    expect(request?.title).toContain('init script');
    expect(request?.request).toMatchObject({
      tool: 'cadre_team_manage',
      team_id: 'team_1',
      title: 'tester',
      worktree: tree,
      init_script: { sha256: 'abc', text: script.text },
    });
    expect(request?.details).toEqual([
      { type: 'input', name: 'team_id', value: 'team_1' },
      { type: 'input', name: 'title', value: 'tester' },
      { type: 'input', name: 'worktree', value: tree },
      { type: 'input', name: 'init_script', value: script.text },
      { type: 'input', name: 'tool', value: 'cadre_team_manage' },
    ]);
    expect(request?.subject).toEqual(request?.request);
    expect(allowed).toEqual([['/repo', 'abc', session.id]]);
  }
});

test('A declined init script is not trusted, and adds no member.', async () => {
  const answer = { decision: 'decline', reason: 'no' } as const;
  const { allowed, error } = await wantMember({ mode: 'workspace_write', answer });
  expect([allowed, error?.code]).toEqual([[], 'unauthorized']);
});

test('An init script is skipped if the worktree is free and nobody can approve the script.', async () => {
  const { asked, allowed, error, runsScript } = await wantMember({
    mode: 'workspace_write',
    canAsk: false,
  });
  expect([asked, allowed, error]).toEqual([[], [], null]);
  expect(runsScript).toBe(false);
});

test('An init script is refused with its worktree in a read_only turn, or if nobody can approve it.', async () => {
  for (const scene of [{ mode: 'read_only' }, { mode: null, canAsk: false }]) {
    const { asked, allowed, error } = await wantMember(scene);
    expect([asked, allowed, error?.code]).toEqual([[], [], 'unauthorized']);
  }
});

test('An init script runs in full_access without an approval, and nobody trusts it.', async () => {
  const { asked, allowed, runsScript } = await wantMember({ mode: 'full_access' });
  expect([asked, allowed, runsScript]).toEqual([[], [], true]);
});

test('A script that has consent already is shown in the approval of the worktree, and needs no approval of its own.', async () => {
  const found = { ...script, trusted: true };
  const shown = await wantMember({ mode: null, found });
  expect(shown.asked[0]?.request).toMatchObject({ init_script: { text: script.text } });
  expect(shown.allowed).toEqual([]);
  const free = await wantMember({ mode: 'workspace_write', found });
  expect([free.asked, free.allowed, free.error]).toEqual([[], [], null]);
});

test('A call of the operator trusts an init script only explicitly.', async () => {
  const { asked, allowed, error } = await wantMember({ mode: null, isOperator: true });
  expect([asked, allowed, error]).toEqual([[], [], null]);
});
