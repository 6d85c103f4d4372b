import { describeKeyed } from '../support/sessions/describe-keyed.ts';
import { keyedRoutes } from '../support/sessions/keyed-requests.ts';

describeKeyed(keyedRoutes);
