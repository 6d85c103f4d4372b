import { endpoints } from '../../api/index.ts';
import type { Differ } from '../../snapshots/differ.ts';
import type { Mount } from '../mount.ts';

/** What changed in the files of sessions. */
export function diffRoutes(mount: Mount, differ: Differ): void {
  mount(endpoints.getSessionDiff, ({ params, query }) => differ.diff(params.session_id, query));
}
