import { describeProvider } from '../agents/describe-provider.ts';
import { claudeFixture } from './claude-fixture.ts';

describeProvider('claude', claudeFixture('claude'));
