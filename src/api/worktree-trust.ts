import { z } from 'zod';
import { component, pageQuery, text, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { agentName } from './provider-kinds.ts';

const sha256 = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 digest of 64 hexadecimal digits')
  .describe('SHA-256 digest of the trusted content, from the response of `look`.');
/** The names of templates; the file of a template has its name and the ending .toml. */
export const TEMPLATE_NAME = /^[A-Za-z0-9][\w-]{0,63}$/;
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
  'RepositoryContent',
  'Content of a repository that can run, select files to copy, or prompt an agent; or the consent to handoffs.',
  {
    kind: z.enum(['init_script', 'included_files', 'filters', 'template', 'handoff']).meta({
      description:
        'Kind of content. `included_files`: patterns of ignored files that are copied into new worktrees. `template`: a prompt with its settings, which is returned only if `templates` is set. `handoff`: the consent that an agent continues sessions at a usage limit, which is returned only if `handoff` is set.',
    }),
    name: text('Path in the repository, or name of the setting, template or agent.'),
    sha256,
    text: text(
      'Commands that would run, patterns of files that would be copied, the template, or the meaning of the consent.',
    ),
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
  body: z.strictObject({
    repo_root: repository,
    templates: z.array(z.string().regex(TEMPLATE_NAME)).max(100).nullish().meta({
      description:
        'Names of templates to return instead of other content. An empty list returns all templates. Default: no templates are returned.',
    }),
    handoff: agentName.nullish().meta({
      description:
        'Provider or agent. Returns the consent that it continues sessions of the repository at a usage limit, instead of other content.',
    }),
  }),
  response: component(
    'RepositoryContents',
    'All content of a repository that must be trusted before use.',
    { repo_root: z.string(), brings: z.array(brought) },
  ),
  errors: ['conflict'],
});

export const trustContent = endpoint('POST /v1/worktree-trust', {
  summary:
    'Trust content of a repository: an init script, a list of included files, filters, a template, or handoffs to an agent',
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
