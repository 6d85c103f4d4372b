import fs from 'node:fs';
import path from 'node:path';
import { bootId } from '../../core/children/identity.ts';
import type { SearchOperations } from '../http/routes/search.ts';
import { lazyModule } from '../../core/lib/lazy-module.ts';
import { sqlWasm } from '../../core/lib/self.ts';
import { SEARCH_FILE } from '../conversations/search/file-name.ts';
import type { SearchDeps } from '../conversations/search/service.ts';
import type { Base } from './base.ts';

/** The server's search. Until somebody searches, nothing of it is loaded, and there is no index. */
export function lazySearch(base: Base, needs: Pick<SearchDeps, 'store' | 'teams' | 'shortage'>) {
  const search = lazyModule(async () => {
    const { SearchService } = await import('../conversations/search/service.ts');
    const service = new SearchService({ ...base, ...needs, wasm: sqlWasm, bootId: bootId() });
    base.db.onDurable(() => service.changed());
    return service;
  });
  return {
    /** Continues the index of an earlier run, in the background. Called once the server listens. */
    resume() {
      if (!fs.existsSync(path.join(base.directory, SEARCH_FILE))) return;
      search
        .load()
        .then((service) => service.resume())
        .catch((error: unknown) => base.logger.error({ err: error }, 'search is unavailable'));
    },
    search: async (...asked) => (await search.load()).search(...asked),
    status: async () => (await search.load()).status(),
    drop: async () => (await search.load()).drop(),
    async [Symbol.asyncDispose]() {
      if (search.isUsed) await (await search.load()).stop();
    },
  } satisfies SearchOperations & AsyncDisposable & { resume(): void };
}
