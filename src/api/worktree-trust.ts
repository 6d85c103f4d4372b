import { z } from 'zod';
import { component, pageQuery, text, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';

const sha256 = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 digest of 64 hexadecimal digits')
  .describe(
    'SHA-256 digest of the trusted content: of the script, or of the list of filters in the response of `look`.',
  );
const repository = z.string().min(1).describe('Directory in the repository.');

export const trusted = component(
  'TrustedContent',
  'Content of a repository that a person trusts, identified by its digest.',
  {
    repo_root: z.string(),
    sha256,
    trusted_by: z.string(),
    trusted_at: timestamp,
  },
);
export type Trusted = z.output<typeof trusted>;

const brought = component(
  'BroughtContent',
  'Content of a repository that can run or select files to copy.',
  {
    kind: z.enum(['init_script', 'included_files', 'filters']).meta({
      description:
        'Kind of content. `included_files`: patterns of ignored files that are copied into new worktrees.',
    }),
    name: text('Path in the repository, or name of the setting.'),
    sha256,
    text: text('Commands that would run, or patterns of files that would be copied.'),
    trusted: z.boolean(),
  },
);
export type Brought = z.output<typeof brought>;

export const listTrusted = endpoint('GET /v1/worktree-trust', {
  summary: 'List the trusted content of repositories, newest first',
  access: 'admin',
  query: {
    repo_root: z.string().optional().describe('Return only content of this repository.'),
    ...pageQuery,
  },
  response: z.array(trusted),
});

export const lookAtBrought = endpoint('POST /v1/worktree-trust/look', {
  summary:
    'Show the content of a repository that must be trusted before use, and whether it is trusted',
  access: 'admin',
  body: z.strictObject({ repo_root: repository }),
  response: component(
    'BroughtContents',
    'All content of a repository that must be trusted before use.',
    { repo_root: z.string(), brings: z.array(brought) },
  ),
  errors: ['conflict'],
});

export const trustContent = endpoint('POST /v1/worktree-trust', {
  summary: 'Trust content of a repository: an init script, a list of included files, or filters',
  access: 'admin',
  body: z.strictObject({ repo_root: repository, sha256 }),
  response: trusted,
  errors: ['conflict'],
});

export const untrustContent = endpoint('POST /v1/worktree-trust/withdraw', {
  summary: 'Withdraw the permission for one content, or for all content of a repository',
  access: 'admin',
  body: z.strictObject({
    repo_root: repository,
    sha256: sha256
      .nullish()
      .describe('SHA-256 digest of the content. Default: all content of the repository.'),
  }),
  response: component('WithdrawnTrust', 'Content whose trust was withdrawn.', {
    repo_root: z.string(),
    withdrawn: z.array(trusted),
  }),
  errors: ['not_found', 'conflict'],
});
