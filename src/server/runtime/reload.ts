import { register } from '../../core/config/registration.ts';
import type { Config } from '../../core/config/schema.ts';
import { withToken } from '../../core/config/token.ts';
import { version } from '../../core/lib/self.ts';
import type { Running } from './running.ts';

/**
 * Applies the settings that may change while the server runs. It never throws: an error is logged, and changes nothing.
 */
export function reload({ base, nouns, edge }: Running, load: () => Config): void {
  const { directory, config, logger } = base;
  try {
    const next = withToken(load(), directory);
    const { url } = edge.server;
    register(directory, { url, version, token_file: next.auth.token_file });
    const { changed, needRestart } = config.reload(next);
    logger.level = config.now.log.level;
    edge.tokens.apiTokenChanged();
    nouns.sessions.pool.admit();
    nouns.processes.runner.admit();
    nouns.hooks.reload();
    if (needRestart.length > 0)
      logger.warn({ keys: needRestart }, 'some changed keys require a restart');
    logger.info({ changed }, 'configuration reloaded');
  } catch (error) {
    logger.error(
      { err: error },
      'configuration not reloaded: the previous configuration stays in effect',
    );
  }
}
