import { endpoints } from '../../../api/index.ts';
import type { SearchService } from '../../conversations/search/service.ts';
import type { Mount } from '../mount.ts';

/** The operations of the search, which is loaded with the first request. */
export interface SearchOperations {
  search: SearchService['search'];
  status(): Promise<ReturnType<SearchService['status']>>;
  drop: SearchService['drop'];
}

export function searchRoutes(mount: Mount, searching: SearchOperations): void {
  mount.page(endpoints.search, async ({ query, disconnected, isHead }) =>
    isHead ? { records: [], nextCursor: null } : searching.search(query, disconnected),
  );
  mount(endpoints.getSearchIndex, () => searching.status());
  mount(endpoints.dropSearchIndex, () => searching.drop());
}
