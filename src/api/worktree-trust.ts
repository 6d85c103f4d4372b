import { z } from 'zod';
import { pageQuery, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';

const sha256 = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'is a SHA-256 in 64 hexadecimal digits')
  .describe(
    'The digest of the allowed content: of the script, or of the list of filters as `look` shows it.',
  );
const repository = z.string().min(1).describe('A directory of the repository.');

export const trusted = z
  .looseObject({
    repo_root: z.string(),
    sha256,
    trusted_by: z.string(),
    trusted_at: timestamp,
  })
  .meta({
    id: 'TrustedContent',
    description: 'A content of a repository that is allowed to run, identified by its digest.',
  });
export type Trusted = z.output<typeof trusted>;

const brought = z
  .looseObject({
    kind: z
      .enum(['init_script', 'included_files', 'filters'])
      .describe(
        'included_files: the patterns of ignored files that are copied into new worktrees.',
      ),
    name: z.string().describe('Its path in the repository, or the name of the setting.'),
    sha256,
    text: z
      .string()
      .describe('The commands that would run, or the patterns of the files that would be copied.'),
    trusted: z.boolean(),
  })
  .meta({ id: 'BroughtContent', description: 'A content of a repository that can be run.' });
export type Brought = z.output<typeof brought>;

export const listTrusted = endpoint({
  method: 'GET',
  path: '/v1/worktree-trust',
  summary: 'List the contents of repositories that are allowed to run, newest first',
  access: 'admin',
  query: { repo_root: z.string().optional().describe('Only of this repository.'), ...pageQuery },
  response: z.array(trusted),
});

export const lookAtBrought = endpoint({
  method: 'POST',
  path: '/v1/worktree-trust/look',
  summary:
    'Show the contents of a repository that need a permission, and which of them are allowed',
  access: 'admin',
  body: z.strictObject({ repo_root: repository }),
  response: z
    .looseObject({ repo_root: z.string(), brings: z.array(brought) })
    .meta({ id: 'BroughtContents', description: 'All contents of a repository that can be run.' }),
  errors: ['conflict'],
});

export const trustContent = endpoint({
  method: 'POST',
  path: '/v1/worktree-trust',
  summary:
    'Allow content of a repository: an init script, a list of included files, or its filters',
  access: 'admin',
  body: z.strictObject({ repo_root: repository, sha256 }),
  response: trusted,
  errors: ['conflict'],
});

export const untrustContent = endpoint({
  method: 'POST',
  path: '/v1/worktree-trust/withdraw',
  summary: 'Withdraw the permission to run content of a repository: one, or all',
  access: 'admin',
  body: z.strictObject({
    repo_root: repository,
    sha256: sha256.nullish().describe('The content; absent: all of the repository.'),
  }),
  response: z
    .looseObject({ repo_root: z.string(), withdrawn: z.array(trusted) })
    .meta({ id: 'WithdrawnTrust', description: 'The contents that are no longer allowed.' }),
  errors: ['not_found', 'conflict'],
});
