import { describePages } from '../docs/describe-pages.ts';
import { pages } from '../docs/page.ts';

describePages(pages().filter((page) => page !== 'README.md'));
