export { definitionsOf } from './definition.ts';
export { ApprovalLinks } from './links.ts';
export { HookService, type SkipWish } from './service.ts';
