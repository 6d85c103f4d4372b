import { describeProvider } from '../agents/describe-provider.ts';
import { codexFixture } from './codex-fixture.ts';

describeProvider('codex', codexFixture('codex'));
