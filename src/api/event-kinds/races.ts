import { z } from 'zod';
import { contender, race } from '../races.ts';
import { describeKinds } from './kind.ts';

const kind = describeKinds('runtime');

const starting = {
  contender: 'codex',
  provider: 'codex' as const,
  agent: null,
  model: null,
  thinking_effort: null,
  permission_mode: null,
  agent_mode: null,
  worktree_name: 'fix-tests-codex',
  session_id: null,
  worktree_id: null,
  status: 'starting' as const,
  waits_for: null,
  failure: null,
  checks: 0,
  exit_code: null,
  files_changed: null,
  additions: null,
  deletions: null,
  usage: null,
  started_at: null,
  ended_at: null,
};
const passed = {
  ...starting,
  session_id: 'sess_019aa8d25b1c7c079a542f6d0c1b7e11',
  worktree_id: 'wt_019aa8d411aa7f0e8d1c0b9e4f7a6c33',
  status: 'passed' as const,
  checks: 1,
  exit_code: 0,
  files_changed: 2,
  additions: 31,
  deletions: 4,
  started_at: 1795312002000,
  ended_at: 1795312061000,
};
const failed = {
  ...starting,
  contender: 'claude',
  provider: 'claude' as const,
  worktree_name: 'fix-tests-claude',
  status: 'failed' as const,
  failure: { code: 'provider_unavailable', message: 'claude: the program claude was not found' },
  ended_at: 1795312002000,
};
const started = {
  id: 'race_019aa8d3aa107b7d9c0a7f5e2d1c0b12',
  name: 'fix-tests',
  prompt: 'fix the tests',
  cwd: '/home/ada/project',
  repo_root: '/home/ada/project',
  base_ref: 'main',
  base_commit: '7d9d51150a2b2d5f7b1c0e4f8a6c3d2e1b0f9a8c',
  check: 'npm test',
  max_checks: 1,
  check_timeout_ms: 600000,
  sandbox: null,
  status: 'running' as const,
  kept: null,
  contenders: [starting, { ...starting, contender: 'claude', provider: 'claude' as const }],
  created_by: 'api',
  created_at: 1795312001000,
  updated_at: 1795312001000,
  stopped_at: null,
  ended_at: null,
};
const ended = {
  ...started,
  status: 'ended' as const,
  contenders: [passed, failed],
  updated_at: 1795312061000,
  ended_at: 1795312061000,
};

export const raceKinds = {
  'race.started': kind({
    when: 'Emitted when a user starts a race: the same prompt in several sessions, each in a worktree of its own.',
    payload: { race },
    large: ['race.contenders'],
    example: { race: started },
  }),
  'race.judged': kind({
    when: 'Emitted when a contender of a race has ended: it has passed, completed or failed.',
    payload: { race_id: z.string(), race_name: z.string(), contender },
    example: { race_id: started.id, race_name: started.name, contender: passed },
  }),
  'race.ended': kind({
    when: 'Emitted when the last contender of a race has ended.',
    payload: { race },
    large: ['race.contenders'],
    example: { race: ended },
  }),
  'race.kept': kind({
    when: 'Emitted when a user keeps one contender of a race. The sessions of the other contenders were closed. The cleanups of their worktrees follow.',
    payload: { race },
    large: ['race.contenders'],
    example: { race: { ...ended, kept: 'codex' } },
  }),
};
