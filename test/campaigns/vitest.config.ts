import { defineConfig } from 'vitest/config';
import suite from '../../vitest.config.ts';

const campaigns = ['test/campaigns/**/*.test.ts'];
/** Those of the suite that try a part of a table there, and the whole of it here. */
const tables = [
  'test/access/attacker.test.ts',
  'test/access/tokens.test.ts',
  'test/bundles/lazy-schemas.test.ts',
  'test/cli/run.test.ts',
  'test/cli/serve.test.ts',
  'test/events/event.test.ts',
  'test/events/feed.test.ts',
  'test/events/kinds.test.ts',
  'test/gateway/cells.test.ts',
  'test/http/endpoints.test.ts',
  'test/http/sessions.test.ts',
  'test/processes/log-file.test.ts',
  'test/processes/logs.test.ts',
  'test/processes/notice.test.ts',
  'test/processes/queue.test.ts',
  'test/processes/reading.test.ts',
  'test/providers/acp/after-restart.test.ts',
  'test/providers/acp/resuming.test.ts',
  'test/providers/acp/starting.test.ts',
  'test/providers/acp/turns.test.ts',
  'test/providers/claude/permission.test.ts',
  'test/providers/codex/requests.test.ts',
  'test/queue/killed.test.ts',
  'test/queue/property.test.ts',
  'test/releases/releases.test.ts',
  'test/retention/property.test.ts',
  'test/retention/trimmed.test.ts',
  'test/sessions/images.test.ts',
  'test/sessions/pool.test.ts',
  'test/sessions/races.test.ts',
  'test/store/power-loss.test.ts',
  'test/store/records.test.ts',
  'test/store/start-plans.test.ts',
  'test/teams/spawn.test.ts',
  'test/terminal/asking.test.ts',
  'test/terminal/growing-markdown.test.ts',
  'test/terminal/lists.test.ts',
  'test/tui/job-control.test.ts',
  'test/tui/panes/cost.test.tsx',
  'test/tui/terminal.test.ts',
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
