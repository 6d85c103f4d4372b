import { z } from 'zod';
import { claim, worktree } from '../worktrees.ts';
import { describeKinds } from './kind.ts';

const kind = describeKinds('worktree');

/** Events of before worktrees had ports and included files lack the fields. */
const worktreeAsMade = worktree
  .partial({ included: true, port_base: true, port_count: true })
  .meta({ id: 'WorktreeAsMade', description: 'A worktree that was made.' });

/** A worktree as events carry it after its creation. */
const worktreeInEvents = worktreeAsMade.omit({ init_script: true, included: true }).meta({
  id: 'WorktreeInEvents',
  description: 'A worktree that has changed, without `init_script` and `included`.',
});
export type WorktreeInEvents = z.output<typeof worktreeInEvents>;

const reason = z.string().nullable().describe('Why it was to go, as whoever asked for it says.');

const move = {
  how: z.string().describe('fast_forward, merge_commit, squash or replay.'),
  previous_commit: z.string().describe('Where the branch that moved was before.'),
  commit: z.string().describe('Where it is now.'),
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

/** Worktrees. */
export const worktreeKinds = {
  'worktree.created': kind({
    when: 'A worktree was made.',
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
    when: 'A session claims a worktree: while it is claimed, it stays.',
    payload: { worktree: worktreeInEvents, claim },
    example: { worktree: active, claim: held },
  }),
  'worktree.released': kind({
    when: 'A claim was released, by request or with the end of its session.',
    payload: { worktree: worktreeInEvents, claim },
    example: {
      worktree: { ...active, status: 'retained' },
      claim: { ...held, released_at: 1795312009000 },
    },
  }),
  'worktree.archived': kind({
    when: 'The work that a worktree holds is kept under a ref of its repository. It comes before the worktree goes.',
    payload: { worktree: worktreeInEvents },
    example: { worktree: archived },
  }),
  'worktree.cleaned': kind({
    when: 'The path and the branch of a worktree were removed.',
    payload: { worktree: worktreeInEvents, reason },
    example: { worktree: { ...archived, status: 'cleaned' }, reason: 'last claim released' },
  }),
  'worktree.retained': kind({
    when: 'Nobody claims a worktree any more, and it stays.',
    payload: { worktree: worktreeInEvents },
    example: { worktree: { ...active, status: 'retained' } },
  }),
  'worktree.cleanup_failed': kind({
    when: 'A worktree was to go and could not.',
    payload: {
      worktree: worktreeInEvents,
      reason,
      diagnostics: z.array(z.string()).describe('What went wrong: one text.'),
    },
    example: {
      worktree: { ...active, status: 'retained' },
      reason: null,
      diagnostics: ['git could not remove the branch'],
    },
  }),
  'worktree.restored': kind({
    when: 'A worktree that was cleaned is there again, with the work that was archived.',
    payload: { worktree: worktreeInEvents },
    example: { worktree: archived },
  }),
  'worktree.merged': kind({
    when: 'The branch of a worktree was merged into another branch, as somebody asked. The worktree is as it was.',
    payload: { worktree: worktreeInEvents, into: z.string().describe('The branch.'), ...move },
    example: {
      worktree: active,
      into: 'main',
      how: 'merge_commit',
      previous_commit: '7d9d51150a2b2d5f7b1c0e4f8a6c3d2e1b0f9a8c',
      commit: '0b5f0a6d9c8e7f1a2b3c4d5e6f708192a3b4c5d6',
    },
  }),
  'worktree.rebased': kind({
    when: 'The commits of a worktree were written again on top of a branch, as somebody asked.',
    payload: { worktree: worktreeInEvents, onto: z.string().describe('The branch.'), ...move },
    example: {
      worktree: active,
      onto: 'main',
      how: 'replay',
      previous_commit: '7d9d51150a2b2d5f7b1c0e4f8a6c3d2e1b0f9a8c',
      commit: '0b5f0a6d9c8e7f1a2b3c4d5e6f708192a3b4c5d6',
    },
  }),
  'worktree.pull_request_opened': kind({
    when: 'A pull request was opened for the branch of a worktree, as somebody asked.',
    payload: {
      worktree: worktreeInEvents,
      into: z.string().describe('The branch.'),
      commit: z.string().describe('The commit at which the branch was.'),
      pushed: z.boolean().describe('Whether the branch was pushed for it.'),
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
    when: 'The path of a worktree is gone, and the server did not remove it.',
    payload: { worktree: worktreeInEvents },
    example: { worktree: { ...active, status: 'missing' } },
  }),
};
