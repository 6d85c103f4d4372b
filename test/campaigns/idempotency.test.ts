import { describeKeyed } from '../server/http/describe-keyed.ts';
import { keyedRoutes } from '../support/sessions/keyed-requests.ts';

describeKeyed(keyedRoutes);
