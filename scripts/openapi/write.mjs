// Writes src/api/openapi.yaml and the types of the client library from the endpoint table, and docs/events.md from the
// table of kinds. A test fails when it was forgotten.
import { readFileSync, writeFileSync } from 'node:fs';
import { openApi, openApiYaml } from './document.ts';
import { eventsPage } from './events-page.ts';
import { interfaceTypes, kindsModule } from './interface.ts';

const { version } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
);
const written = {
  'src/api/openapi.yaml': openApiYaml(version),
  'docs/events.md': eventsPage(),
  'src/client/public/interface.ts': await interfaceTypes(openApi(version)),
  'src/client/public/event-kinds.ts': await kindsModule(),
};
for (const [name, text] of Object.entries(written))
  writeFileSync(new URL(`../../${name}`, import.meta.url), text);
