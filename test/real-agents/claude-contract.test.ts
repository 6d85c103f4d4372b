import { describeProvider } from '../support/providers/describe-provider.ts';
import { claudeFixture } from './claude-fixture.ts';

describeProvider('claude', claudeFixture('claude'));
