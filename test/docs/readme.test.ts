import { describePages } from './describe-pages.ts';

// The other pages are those of test/campaigns/pages.
describePages(['README.md']);
