import { z } from 'zod';
import { contender, race } from '../races.ts';
import { claim, worktree } from '../worktrees.ts';
import { describeKinds } from './kind.ts';

const kind = describeKinds('worktree');

/** Events from before worktrees had ports and included files lack these fields. */
const worktreeAsMade = worktree
  .partial({ included: true, port_base: true, port_count: true })
  .meta({ id: 'CreatedWorktree', description: 'A worktree that was created.' });

/** A worktree as events contain it after its creation. */
const worktreeInEvents = worktreeAsMade.omit({ init_script: true, included: true }).meta({
  id: 'WorktreeInEvents',
  description: 'A worktree that has changed, without `init_script` and `included`.',
});
export type WorktreeInEvents = z.output<typeof worktreeInEvents>;

const reason = z.string().nullable().meta({
  description: 'Reason for the removal, as the requester gave it. Null if none was given.',
});

const move = {
  how: z.string().describe('Method: fast_forward, merge_commit, squash or replay.'),
  previous_commit: z.string().describe('Commit that the moved branch pointed to before.'),
  commit: z.string().describe('Commit that the moved branch points to now.'),
};

const active = {
  id: 'wt_019aa8d411aa7f0e8d1c0b9e4f7a6c33',
  worktree_name: 'fix-tests',
  repo_root: '/home/ada/project',
  path: '/home/ada/.local/share/cadre/worktrees/project/fix-tests',
  branch: 'cadre/fix-tests',
  base_ref: 'main',
  base_commit: '7d9d51150a2b2d5f7b1c0e4f8a6c3d2e1b0f9a8c',
  deletion_policy: 'delete_on_last_claim' as const,
  status: 'active' as const,
  source_session_id: 'sess_019aa8d25b1c7c079a542f6d0c1b7e11',
  team_id: null,
  operation_id: null,
  port_base: 20_480,
  port_count: 20,
  archive_ref: null,
  created_at: 1795312007000,
  updated_at: 1795312007000,
};
const held = {
  worktree_id: active.id,
  session_id: active.source_session_id,
  claim_role: 'owner' as const,
  created_at: 1795312007000,
  released_at: null,
};
const archived = {
  ...active,
  status: 'retained' as const,
  archive_ref: 'refs/cadre/archive/wt_019aa8d411aa7f0e8d1c0b9e4f7a6c33',
};

export const worktreeKinds = {
  'worktree.created': kind({
    when: 'Emitted when a worktree is created.',
    payload: { worktree: worktreeAsMade },
    example: {
      worktree: {
        ...active,
        init_script: { status: 'not_found', exit_code: null, output_tail: '', sha256: null },
        included: {
          status: 'not_found',
          files: 0,
          bytes: 0,
          skipped: 0,
          sha256: null,
          how_to_allow: null,
        },
      },
    },
  }),
  'worktree.claimed': kind({
    when: 'Emitted when a session claims a worktree. A claimed worktree is not removed.',
    payload: { worktree: worktreeInEvents, claim },
    example: { worktree: active, claim: held },
  }),
  'worktree.released': kind({
    when: 'Emitted when the claim of a session on a worktree is released, by request or because the session ends.',
    payload: { worktree: worktreeInEvents, claim },
    example: {
      worktree: { ...active, status: 'retained' },
      claim: { ...held, released_at: 1795312009000 },
    },
  }),
  'worktree.archived': kind({
    when: 'Emitted when the work in a worktree is archived under a ref of its repository, before the worktree is removed.',
    payload: { worktree: worktreeInEvents },
    example: { worktree: archived },
  }),
  'worktree.cleaned': kind({
    when: 'Emitted when the directory and the branch of a worktree were removed.',
    payload: { worktree: worktreeInEvents, reason },
    example: {
      worktree: { ...archived, status: 'cleaned' },
      reason: 'the last claim on the worktree was released',
    },
  }),
  'worktree.retained': kind({
    when: 'Emitted when the last claim on a worktree was released and the worktree is kept.',
    payload: { worktree: worktreeInEvents },
    example: { worktree: { ...active, status: 'retained' } },
  }),
  'worktree.cleanup_failed': kind({
    when: 'Emitted when the removal of a worktree fails.',
    payload: {
      worktree: worktreeInEvents,
      reason,
      diagnostics: z.array(z.string()).describe('Cause of the failure, as one text.'),
    },
    example: {
      worktree: { ...active, status: 'retained' },
      reason: null,
      diagnostics: ['git could not remove the branch'],
    },
  }),
  'worktree.restored': kind({
    when: 'Emitted when a cleaned worktree is restored with its archived work.',
    payload: { worktree: worktreeInEvents },
    example: { worktree: archived },
  }),
  'worktree.merged': kind({
    when: 'Emitted when a request has merged the branch of a worktree into another branch. The worktree itself is unchanged.',
    payload: { worktree: worktreeInEvents, into: z.string().describe('Target branch.'), ...move },
    example: {
      worktree: active,
      into: 'main',
      how: 'merge_commit',
      previous_commit: '7d9d51150a2b2d5f7b1c0e4f8a6c3d2e1b0f9a8c',
      commit: '0b5f0a6d9c8e7f1a2b3c4d5e6f708192a3b4c5d6',
    },
  }),
  'worktree.rebased': kind({
    when: 'Emitted when a request has rebased the commits of a worktree onto another branch.',
    payload: { worktree: worktreeInEvents, onto: z.string().describe('Target branch.'), ...move },
    example: {
      worktree: active,
      onto: 'main',
      how: 'replay',
      previous_commit: '7d9d51150a2b2d5f7b1c0e4f8a6c3d2e1b0f9a8c',
      commit: '0b5f0a6d9c8e7f1a2b3c4d5e6f708192a3b4c5d6',
    },
  }),
  'worktree.pull_request_opened': kind({
    when: 'Emitted when a request has opened a pull request for the branch of a worktree.',
    payload: {
      worktree: worktreeInEvents,
      into: z.string().describe('Target branch.'),
      commit: z.string().describe('Commit that the branch pointed to.'),
      pushed: z.boolean().describe('Whether the branch was pushed for the pull request.'),
      url: z.string(),
    },
    example: {
      worktree: active,
      into: 'main',
      commit: '0b5f0a6d9c8e7f1a2b3c4d5e6f708192a3b4c5d6',
      pushed: true,
      url: 'https://github.com/ada/project/pull/7',
    },
  }),
  'worktree.missing': kind({
    when: 'Emitted when the directory of a worktree is missing, although the server did not remove the directory.',
    payload: { worktree: worktreeInEvents },
    example: { worktree: { ...active, status: 'missing' } },
  }),
};

const raceKind = describeKinds('runtime');

const raceInEvents = race.omit({ contenders: true }).meta({
  id: 'RaceInEvents',
  description: 'A race, without its contenders.',
});

const endedContender = {
  contender: 'codex',
  provider: 'codex' as const,
  agent: null,
  model: null,
  thinking_effort: null,
  permission_mode: null,
  agent_mode: null,
  worktree_name: 'fix-tests-codex',
  session_id: 'sess_019aa8d25b1c7c079a542f6d0c1b7e11',
  worktree_id: 'wt_019aa8d411aa7f0e8d1c0b9e4f7a6c33',
  status: 'passed' as const,
  waits_for: null,
  failure: null,
  checks: 1,
  exit_code: 0,
  files_changed: 2,
  additions: 31,
  deletions: 4,
  usage: null,
  started_at: 1795312002000,
  ended_at: 1795312061000,
};
const startedContender = {
  ...endedContender,
  status: 'running' as const,
  checks: 0,
  exit_code: null,
  files_changed: null,
  additions: null,
  deletions: null,
  ended_at: null,
};
const startedRace = {
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
  created_by: 'api',
  created_at: 1795312001000,
  updated_at: 1795312001000,
  stopped_at: null,
  ended_at: null,
};
const endedRace = {
  ...startedRace,
  status: 'ended' as const,
  updated_at: 1795312061000,
  ended_at: 1795312061000,
};

export const raceKinds = {
  'race.started': raceKind({
    when: 'Emitted when a user starts a race: the same prompt in several sessions, each in a worktree of its own.',
    payload: { race: raceInEvents },
    example: { race: startedRace },
  }),
  'race.contender_started': raceKind({
    when: 'Emitted when the session of a contender of a race was created and gets the prompt.',
    payload: { race_id: z.string(), race_name: z.string(), contender },
    example: { race_id: startedRace.id, race_name: startedRace.name, contender: startedContender },
  }),
  'race.judged': raceKind({
    when: 'Emitted when a contender of a race has ended: it has passed, completed or failed.',
    payload: { race_id: z.string(), race_name: z.string(), contender },
    example: { race_id: startedRace.id, race_name: startedRace.name, contender: endedContender },
  }),
  'race.ended': raceKind({
    when: 'Emitted when the last contender of a race has ended.',
    payload: { race: raceInEvents },
    example: { race: endedRace },
  }),
  'race.kept': raceKind({
    when: 'Emitted when a user keeps one contender of a race. The sessions of the other contenders were closed. The cleanups of their worktrees follow.',
    payload: { race: raceInEvents },
    example: { race: { ...endedRace, kept: 'codex' } },
  }),
};
