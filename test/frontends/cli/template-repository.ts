import path from 'node:path';
import { endpoints } from '../../../src/api/index.ts';
import { cadreOn } from '../../support/cli/cadre.ts';
import type { TestRuntime } from '../../support/runtime.ts';
import { testDirectory } from '../../support/temp.ts';
import { commit, makeRepository, write } from '../../support/worktrees/work.ts';

/** A template with a required variable and a default. */
export const FIX = `description = "Fix an issue"
prompt = "say Issue {{issue}} on {{ base }}, not {{ base.ref }}"
title = "fix {{issue}}"

[variables.issue]
description = "Number of the issue"

[variables.base]
default = "main"
`;

/** Makes a repository with these templates, and the command line in it. */
export function templateRepository(on: TestRuntime, templates: Record<string, string>) {
  const repo = makeRepository(path.join(testDirectory('templates'), 'repo'));
  const put = (files: Record<string, string>) => {
    for (const [name, text] of Object.entries(files))
      write(repo, { [`.cadre/templates/${name}.toml`]: text });
    commit(repo, 'with templates');
  };
  put(templates);
  const cadre = (argv: readonly string[], more: object = {}) =>
    cadreOn(on)([...argv], { cwd: repo, ...more });
  const shown = async (name: string) =>
    (await cadre(['templates', 'show', name, '--json'])).json() as Record<string, unknown>;
  const trust = async (name: string) => {
    const { sha256 } = await shown(name);
    await on.client.call(endpoints.trustContent, {
      body: { repo_root: repo, sha256: String(sha256) },
    });
  };
  const session = async (id: unknown) =>
    on.client.call(endpoints.getSession, { params: { session_id: String(id) } });
  return { repo, put, cadre, shown, trust, session };
}

/** The session and turn of a run with --json. */
export const idsOf = (ran: { lines: () => Record<string, unknown>[] }) => {
  const { session_id, turn_id } = ran.lines()[0] ?? {};
  return { session_id, turn_id };
};
