import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';

const names = z.record(z.string(), z.string()).default({});
const lockFile = z.object({
  packages: z.record(
    z.string(),
    z.looseObject({ optionalDependencies: names, resolved: z.string().optional() }),
  ),
});

const { packages } = lockFile.parse(JSON.parse(readFileSync('package-lock.json', 'utf8')));

test('The lock file has every optional package of every platform, so that npm ci accepts it anywhere.', () => {
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies }]) =>
    Object.keys(optionalDependencies).filter(
      (name) =>
        !(`node_modules/${name}` in packages) && !(`${path}/node_modules/${name}` in packages),
    ),
  );
  expect(missing).toEqual([]);
});

test('The lock file names no host that packages were fetched from.', () => {
  const places = Object.values(packages).flatMap(({ resolved = [] }) => resolved);
  expect(places).toEqual(['toolchain']);
});
