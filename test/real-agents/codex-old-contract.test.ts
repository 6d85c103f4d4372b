import { describeProvider } from '../agents/describe-provider.ts';
import { codexFixture } from './codex-fixture.ts';

/** They take long, and hold more of cadre's part than of the agent's. */
const asTheNewest = { leftOut: 'shown with the newest release' };

describeProvider('codex, an older one', {
  ...codexFixture('codex-old'),
  longLine: asTheNewest,
  ignoreCancel: asTheNewest,
});
