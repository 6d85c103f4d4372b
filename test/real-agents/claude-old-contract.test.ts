import { describeProvider } from '../agents/describe-provider.ts';
import { claudeFixture } from './claude-fixture.ts';

/** They take long, and hold more of cadre's part than of the agent's. */
const asTheNewest = { leftOut: 'shown with the newest release' };

describeProvider('claude, an older one', {
  ...claudeFixture('claude-old'),
  longLine: asTheNewest,
  ignoreCancel: asTheNewest,
});
