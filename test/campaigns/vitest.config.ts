import { defineConfig } from 'vitest/config';
import suite from '../../vitest.config.ts';

const campaigns = ['test/campaigns/**/*.test.ts'];
/** Those of the suite that try a part of a table there, and the whole of it here. */
const tables = [
  'test/access/attacker.test.ts',
  'test/gateway/cells.test.ts',
  'test/http/endpoints.test.ts',
  'test/processes/log-file.test.ts',
  'test/processes/notice.test.ts',
  'test/processes/queue.test.ts',
  'test/providers/acp/after-restart.test.ts',
  'test/providers/acp/resuming.test.ts',
  'test/providers/acp/starting.test.ts',
  'test/providers/acp/turns.test.ts',
  'test/providers/claude/permission.test.ts',
  'test/providers/codex/requests.test.ts',
  'test/queue/killed.test.ts',
  'test/sessions/pool.test.ts',
  'test/sessions/races.test.ts',
  'test/teams/spawn.test.ts',
];
/** Those of fleets and of requests made from openapi.yaml need programs of others, and have configurations of their own. */
const others = ['test/campaigns/fleet/**', 'test/campaigns/api/**'];

process.env.TEST_LENGTH ??= 'medium';

/** As the suite, which leaves these out. */
export default defineConfig({
  ...suite,
  test: {
    ...suite.test,
    include: [...campaigns, ...tables],
    exclude: others,
  },
});
