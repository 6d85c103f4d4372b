import { defineConfig } from 'vitest/config';
import suite from '../../vitest.config.ts';

const campaigns = ['test/campaigns/**/*.test.ts'];
/** Those of fleets and of requests made from openapi.yaml need programs of others, and have configurations of their own. */
const others = ['test/campaigns/fleet/**', 'test/campaigns/api/**'];

/** As the suite, which leaves these out. */
export default defineConfig({
  ...suite,
  test: { ...suite.test, include: campaigns, exclude: others },
});
