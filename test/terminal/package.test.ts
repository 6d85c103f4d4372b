import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

test('The package of npm brings nothing else to install but the pinned Node, because the bundle has it all.', () => {
  const file = new URL('../../package.json', import.meta.url);
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as Record<string, object | undefined>;
  expect(manifest.dependencies).toBeUndefined();
  expect(manifest.peerDependencies).toBeUndefined();
  for (const name of Object.keys(manifest.optionalDependencies ?? {}))
    expect(name).toMatch(/^node-linux-(x64|arm64)$/);
});
