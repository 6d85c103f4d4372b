import fs from 'node:fs';
import { expect, test } from 'vitest';
import { callerPath, readCaller, writeCaller } from '../../../src/core/config/caller-file.ts';
import { anError } from '../../support/an-error.ts';
import { testDirectory } from '../../support/temp.ts';

const caller = { name: 'c', token_id: 'tok_1', token: 'secret', session_id: null, url: null };

test.for([
  { token: 1 },
  { token_id: null },
  { session_id: { a: 1 } },
  { url: ['http://127.0.0.1:7433'] },
])('A caller file with the field %o of a wrong type is refused as a whole.', (wrong) => {
  const directory = testDirectory();
  writeCaller(directory, caller);
  expect(readCaller(directory, 'c')).toEqual(caller);
  fs.writeFileSync(callerPath(directory, 'c'), JSON.stringify({ ...caller, ...wrong }));
  const refused = anError('invalid', 'contains no valid token of an agent: set up the agent again');
  expect(() => readCaller(directory, 'c')).toThrow(expect.objectContaining(refused));
});
