import { endpoints } from '../../../api/index.ts';
import type { GoalService } from '../../conversations/goals/service.ts';
import { type Mount, senderOf } from '../mount.ts';

export function goalRoutes(mount: Mount, goals: GoalService): void {
  mount(endpoints.setGoal, ({ params, body, bearer, saveResponse }) =>
    goals.set(params.session_id, body, senderOf({ bearer }), saveResponse),
  );
  mount(endpoints.getGoal, ({ params }) => goals.get(params.session_id));
  mount(endpoints.cancelGoal, ({ params, saveResponse }) =>
    goals.cancel(params.session_id, saveResponse),
  );
}
