import { endpoints } from '../../../api/index.ts';
import type { SearchService } from '../../conversations/search/service.ts';
import { type Mount, onePage } from '../mount.ts';

/** The search as the routes use it: it is loaded with the first request. */
export interface Searching {
  search: SearchService['search'];
  status(): Promise<ReturnType<SearchService['status']>>;
  drop: SearchService['drop'];
}

/** Search over all sessions. */
export function searchRoutes(mount: Mount, searching: Searching): void {
  mount(endpoints.search, async ({ query, setHeader, disconnected, isHead }) =>
    isHead ? [] : onePage(await searching.search(query, disconnected), setHeader),
  );
  mount(endpoints.getSearchIndex, () => searching.status());
  mount(endpoints.dropSearchIndex, () => searching.drop());
}
