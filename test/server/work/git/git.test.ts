import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { AppError } from '../../../../src/api/errors.ts';
import { errorReply } from '../../../../src/server/http/errors.ts';
import { mergeCommits } from '../../../../src/server/work/merge/commits.ts';
import { Git } from '../../../../src/server/work/git/git.ts';

test('A git command that prints more than can be read as a whole fails, and says the limit.', async () => {
  const { signal } = new AbortController();
  const git = new Git({ marker: '', signal, maxOutputBytes: 10 });
  await expect(git.text(['--version'])).rejects.toThrow(
    'git --version printed more than 10 bytes, the maximum',
  );
});

test('A git command that finds no free descriptor fails with the reason, and does not end the process.', async () => {
  const program = `
    const { Git } = await import(process.argv[1]);
    const fs = await import('node:fs');
    const git = new Git({ marker: 'none', signal: new AbortController().signal });
    await git.text(['--version']);
    const open = [];
    try {
      for (;;) open.push(fs.openSync('/dev/null'));
    } catch {}
    const failure = await git.text(['--version']).catch((error) => error);
    for (const one of open) fs.closeSync(one);
    console.log(failure.name, failure.message);
    console.log(await git.text(['--version']));
  `;
  const file = new URL('../../../../src/server/work/git/git.ts', import.meta.url).href;
  const words = ['-c', 'ulimit -n 64 && exec "$@"', 'sh', process.execPath];
  const { stdout, stderr } = spawnSync(
    'sh',
    [...words, '--input-type=module', '--eval', program, file],
    { encoding: 'utf8' },
  );
  expect(stderr).toBe('');
  expect(stdout).toMatch(/^Error cannot start git: spawn git EMFILE\ngit version /);
});

test('A git command that finds no keeper fails with the error of the keeper.', async () => {
  const missing = new Error('cannot start the keeper');
  const ensure = () => {
    throw missing;
  };
  const { signal } = new AbortController();
  const git = new Git({ marker: '', signal, keeper: { ensure } });
  await expect(git.text(['--version'])).rejects.toBe(missing);
});

test('A git command that the stop of the server ends is answered with 503, and any other failure is a bug.', async () => {
  const stop = new AbortController();
  const git = new Git({ marker: '', signal: stop.signal });
  const cancelled = AbortSignal.abort();
  const failure = (run: Git) => run.text(['--version']).catch((error: unknown) => error);
  expect(errorReply(await failure(git.within(cancelled)))).toMatchObject({
    status: 500,
    isBug: true,
  });
  stop.abort(new AppError('shutting_down', 'the server is stopping'));
  for (const run of [git, git.within(cancelled)])
    expect(errorReply(await failure(run))).toMatchObject({ status: 503, isBug: false });
});

test('A merge that the stop of the server ends is refused for the stop, so that its key does not keep a conflict.', async () => {
  const reason = new AppError('shutting_down', 'the server is stopping');
  const git = new Git({ marker: '', signal: AbortSignal.abort(reason) });
  const commits = { ours: 'a', theirs: 'b' };
  const failure = await mergeCommits(git, commits).catch((error: unknown) => error);
  expect(errorReply(failure)).toMatchObject({ status: 503, isBug: false });
});
