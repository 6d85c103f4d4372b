import fs from 'node:fs';
import path from 'node:path';
import { bootId } from '../../core/children/identity.ts';
import type { Searching } from '../http/routes/search.ts';
import { lazyModule } from '../../core/lib/lazy-module.ts';
import { sqlWasm } from '../../core/lib/self.ts';
import { SEARCH_FILE } from '../conversations/search/file-name.ts';
import type { SearchDeps, SearchService } from '../conversations/search/service.ts';
import type { Base } from './base.ts';

type Needs = Pick<SearchDeps, 'store' | 'teams' | 'shortage'>;

/** The server's search. Until somebody searches, nothing of it is loaded, and there is no index. */
export class SearchSeat implements Searching, AsyncDisposable {
  readonly #base: Base;
  readonly #needs: Needs;
  readonly #service = lazyModule(() => this.#load());

  constructor(base: Base, needs: Needs) {
    this.#base = base;
    this.#needs = needs;
  }

  /** Continues the index of an earlier run, in the background. Called once the server listens. */
  resume(): void {
    if (!fs.existsSync(path.join(this.#base.directory, SEARCH_FILE))) return;
    this.#service
      .load()
      .then((service) => service.resume())
      .catch((error: unknown) => this.#base.logger.error({ err: error }, 'search is unavailable'));
  }

  async search(...asked: Parameters<SearchService['search']>) {
    return (await this.#service.load()).search(...asked);
  }

  async status() {
    return (await this.#service.load()).status();
  }

  async drop() {
    return (await this.#service.load()).drop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#service.isUsed) await (await this.#service.load()).stop();
  }

  async #load(): Promise<SearchService> {
    const { SearchService } = await import('../conversations/search/service.ts');
    const service = new SearchService({
      ...this.#base,
      ...this.#needs,
      wasm: sqlWasm,
      bootId: bootId(),
    });
    this.#base.db.onDurable(() => service.changed());
    return service;
  }
}
