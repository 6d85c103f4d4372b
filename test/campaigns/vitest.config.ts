import { defineConfig } from 'vitest/config';
import suite from '../../vitest.config.ts';

const campaigns = ['test/campaigns/**/*.test.ts'];
/** Tests that try a part of a table in the suite, and the whole table here. */
const tables = [
  'test/core/access/attacker.test.ts',
  'test/core/access/tokens.test.ts',
  'test/bundles/lazy-schemas.test.ts',
  'test/frontends/cli/run.test.ts',
  'test/frontends/cli/serve.test.ts',
  'test/core/events/event.test.ts',
  'test/core/events/feed.test.ts',
  'test/core/events/kinds.test.ts',
  'test/server/teams/gateway/cells.test.ts',
  'test/server/http/endpoints.test.ts',
  'test/server/http/sessions.test.ts',
  'test/server/work/processes/log-file.test.ts',
  'test/server/work/processes/notice.test.ts',
  'test/server/work/processes/queue.test.ts',
  'test/server/work/processes/reading.test.ts',
  'test/agents/acp/after-restart.test.ts',
  'test/agents/acp/resuming.test.ts',
  'test/agents/acp/starting.test.ts',
  'test/agents/acp/turns.test.ts',
  'test/agents/claude/permission.test.ts',
  'test/agents/codex/requests.test.ts',
  'test/server/conversations/queue/killed.test.ts',
  'test/server/conversations/queue/property.test.ts',
  'test/releases/releases.test.ts',
  'test/server/maintenance/retention/property.test.ts',
  'test/server/maintenance/retention/trimmed.test.ts',
  'test/server/conversations/sessions/images.test.ts',
  'test/server/conversations/sessions/pool.test.ts',
  'test/server/conversations/sessions/races.test.ts',
  'test/core/store/power-loss.test.ts',
  'test/core/store/records.test.ts',
  'test/core/store/start-plans.test.ts',
  'test/server/teams/spawn.test.ts',
  'test/frontends/terminal/asking.test.ts',
  'test/frontends/terminal/growing-markdown.test.ts',
  'test/frontends/terminal/lists.test.ts',
  'test/frontends/tui/job-control.test.ts',
  'test/frontends/tui/panes/cost.test.tsx',
  'test/frontends/tui/terminal.test.ts',
];
/** Tests of fleets and of requests made from openapi.yaml need other programs, and have configurations of their own. */
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
