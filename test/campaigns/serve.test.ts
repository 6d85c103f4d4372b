import path from 'node:path';
import { expect, test } from 'vitest';
import { startCadre } from '../support/cli/cadre.ts';
import { untilNothingCarries } from '../support/server.ts';
import { tempDirectory } from '../support/temp.ts';

test('cadre serve accepts the log level `fatal`, and then logs nothing in a clean run.', async () => {
  await using place = tempDirectory();
  const args = ['--data-dir', path.join(place.path, 'data'), 'serve', '--demo', '--port', '0'];
  const server = startCadre(place.path, [...args, '--log-level', 'fatal']);
  await server.until('token\n');
  server.child.kill('SIGTERM');
  expect(await server.ended).toMatchObject({ code: 0, stderr: '' });
  await untilNothingCarries(place.path);
});
