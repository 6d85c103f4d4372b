import { describePages } from '../docs/describe-pages.ts';
import { pages } from '../docs/page.ts';

/** With PART, an eighth of the pages: `make campaigns-part`. */
const part = process.env.PART ? Number(process.env.PART) : null;

describePages(
  pages()
    .filter((page) => page !== 'README.md')
    .filter((_, at) => part === null || at % 8 === part - 1),
);
