import { describePages } from './describe-pages.ts';

// test/campaigns/pages tests the other pages.
describePages(['README.md']);
