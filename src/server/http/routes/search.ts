import { endpoints } from '../../../api/index.ts';
import type { SearchService } from '../../conversations/search/service.ts';
import type { Mount } from '../mount.ts';

/** The search as the routes use it: it is loaded with the first request. */
export interface Searching {
  search: SearchService['search'];
  status(): Promise<ReturnType<SearchService['status']>>;
  drop: SearchService['drop'];
}

export function searchRoutes(mount: Mount, searching: Searching): void {
  mount.page(endpoints.search, async ({ query, disconnected, isHead }) =>
    isHead ? { records: [], nextCursor: null } : searching.search(query, disconnected),
  );
  mount(endpoints.getSearchIndex, () => searching.status());
  mount(endpoints.dropSearchIndex, () => searching.drop());
}
