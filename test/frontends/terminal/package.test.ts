import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

test('The package of npm brings nothing else to install and runs nothing when it is installed, because the bundle has it all.', () => {
  const file = new URL('../../../package.json', import.meta.url);
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as Record<string, object | undefined>;
  for (const kind of ['dependencies', 'peerDependencies', 'optionalDependencies'])
    expect(manifest).not.toHaveProperty(kind);
  for (const script of ['preinstall', 'install', 'postinstall', 'prepare'])
    expect(manifest.scripts).not.toHaveProperty(script);
});
