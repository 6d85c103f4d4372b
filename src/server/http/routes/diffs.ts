import { endpoints } from '../../../api/index.ts';
import type { SnapshotService } from '../../work/snapshots/service.ts';
import type { Mount } from '../mount.ts';

export function diffRoutes(mount: Mount, snapshots: SnapshotService): void {
  mount(endpoints.getSessionDiff, ({ params, query }) => snapshots.diff(params.session_id, query));
  mount(endpoints.getSnapshots, ({ params }) => snapshots.get(params.session_id));
  mount(endpoints.setSnapshots, ({ params, body }) =>
    snapshots.set(params.session_id, body.enabled),
  );
  mount(endpoints.listSessionFiles, ({ params, query }) =>
    snapshots.files(params.session_id, query),
  );
  mount(endpoints.restoreFile, ({ params, body }) => snapshots.restore(params.session_id, body));
}
