import { describeKeyed } from '../server/http/describe-keyed.ts';
import { keyedRoutes } from '../server/http/keyed-requests.ts';

describeKeyed(keyedRoutes);
