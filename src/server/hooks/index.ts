export { definitionsOf } from './definition.ts';
export { ApprovalLinks } from './links.ts';
export { HookService, type SkipRequest } from './service.ts';
