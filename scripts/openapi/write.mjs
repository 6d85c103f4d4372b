// Writes src/api/openapi.yaml from the endpoint table. A test fails if the file is out of date.
import { readFileSync, writeFileSync } from 'node:fs';
import { openApiYaml } from './document.ts';

const { version } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
);
writeFileSync(new URL('../../src/api/openapi.yaml', import.meta.url), openApiYaml(version));
