import { describeProvider } from '../support/providers/describe-provider.ts';
import { codexFixture } from './codex-fixture.ts';

describeProvider('codex', codexFixture('codex'));
