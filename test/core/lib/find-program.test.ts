import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { findProgram } from '../../../src/core/lib/find-program.ts';
import { testDirectory } from '../../support/temp.ts';

test('A program in a relative directory of PATH has an absolute path, because a child starts in another directory.', () => {
  const directory = testDirectory('path');
  const program = path.join(directory, 'tool');
  fs.writeFileSync(program, '', { mode: 0o755 });
  expect(findProgram('tool', path.relative(process.cwd(), directory))).toBe(program);
});
