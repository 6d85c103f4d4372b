import { endpoints } from '../../../api/index.ts';
import type { Differ } from '../../work/snapshots/differ.ts';
import type { Restorer } from '../../work/snapshots/restorer.ts';
import type { SnapshotService } from '../../work/snapshots/service.ts';
import type { Mount } from '../mount.ts';

export interface Files {
  differ: Differ;
  snapshots: SnapshotService;
  restorer: Restorer;
}

export function diffRoutes(mount: Mount, { differ, snapshots, restorer }: Files): void {
  mount(endpoints.getSessionDiff, ({ params, query }) => differ.diff(params.session_id, query));
  mount(endpoints.getSnapshots, ({ params }) => snapshots.get(params.session_id));
  mount(endpoints.setSnapshots, ({ params, body }) =>
    snapshots.set(params.session_id, body.enabled),
  );
  mount(endpoints.listSessionFiles, ({ params, query }) =>
    snapshots.files(params.session_id, query),
  );
  mount(endpoints.restoreFile, ({ params, body }) => restorer.restore(params.session_id, body));
}
