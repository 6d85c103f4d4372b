import { describeProvider } from '../providers/describe-provider.ts';
import { claudeFixture } from './claude-fixture.ts';

describeProvider('claude, an older one', claudeFixture('claude-old'));
