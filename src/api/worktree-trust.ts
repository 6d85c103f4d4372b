import { z } from 'zod';
import { pageQuery, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';

const sha256 = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'is a SHA-256 in 64 hexadecimal digits')
  .describe('The digest of what is allowed: of the script, or of the list of filters as shown.');
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
    description: 'What a repository brings and may run here, by its content.',
  });
export type Trusted = z.output<typeof trusted>;

const brought = z
  .looseObject({
    kind: z.enum(['init_script', 'filters']),
    name: z.string().describe('Where it stands in the repository.'),
    sha256,
    text: z.string().describe('What would run.'),
    trusted: z.boolean(),
  })
  .meta({ id: 'BroughtContent', description: 'What a repository brings that can be run.' });
export type Brought = z.output<typeof brought>;

export const listTrusted = endpoint({
  method: 'GET',
  path: '/v1/worktree-trust',
  summary: 'List what repositories bring and may run here, newest first',
  access: 'admin',
  query: { repo_root: z.string().optional().describe('Only of this repository.'), ...pageQuery },
  response: z.array(trusted),
});

export const lookAtBrought = endpoint({
  method: 'POST',
  path: '/v1/worktree-trust/look',
  summary: 'Show what a repository brings that can be run, and whether it may',
  access: 'admin',
  body: z.strictObject({ repo_root: repository }),
  response: z
    .looseObject({ repo_root: z.string(), brings: z.array(brought) })
    .meta({ id: 'BroughtContents', description: 'All that a repository brings that can be run.' }),
  errors: ['conflict'],
});

export const trustContent = endpoint({
  method: 'POST',
  path: '/v1/worktree-trust',
  summary: 'Allow content of a repository: an init script, or its filters',
  access: 'admin',
  body: z.strictObject({ repo_root: repository, sha256 }),
  response: trusted,
  errors: ['conflict'],
});

export const untrustContent = endpoint({
  method: 'POST',
  path: '/v1/worktree-trust/withdraw',
  summary: 'Allow content of a repository no more: one, or all there is of it',
  access: 'admin',
  body: z.strictObject({
    repo_root: repository,
    sha256: sha256.nullish().describe('Absent: all.'),
  }),
  response: z
    .looseObject({ repo_root: z.string(), withdrawn: z.array(trusted) })
    .meta({ id: 'WithdrawnTrust', description: 'What is no longer allowed.' }),
  errors: ['not_found', 'conflict'],
});
