export { definitionsOf } from './definition.ts';
export { ApprovalLinks } from './links.ts';
export { HookService } from './service.ts';
