import { installAgent } from './install.ts';

/** Installs every real agent before the tests. */
export default async function setup(): Promise<void> {
  await installAgent('opencode');
  await installAgent('claude');
}
