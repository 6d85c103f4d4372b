import { endpoints } from '../../api/index.ts';
import type { InputItem } from '../../api/input.ts';
import { sessionId } from './find.ts';
import { timesOf, type TimeOptions } from './queue-times.ts';
import { type TurnSettingOptions, turnSettings } from './turn-settings.ts';
import type { CommandContext } from './world.ts';

/** Adds a prompt to the queue of the session that `said` names, and says when it is due. */
export async function addToQueue(
  { client, world, show }: CommandContext,
  said: string,
  input: InputItem[],
  options: TimeOptions & TurnSettingOptions,
): Promise<void> {
  const { entryStateText } = await import('./queue-text.ts');
  const now = world.clock.now();
  const params = { session_id: await sessionId(client, said) };
  if (options.permissionMode !== undefined) {
    const session = await client.call(endpoints.getSession, { params });
    const { assertPermissionMode } = await import('./talk/assert-mode.ts');
    await assertPermissionMode({ client }, session, options.permissionMode);
  }
  const { name, reason, overlap } = options;
  const added = await client.call(endpoints.addToQueue, {
    params,
    body: { input, ...timesOf(options, now), name, reason, overlap, ...turnSettings(options) },
  });
  show(added, () => entryStateText(added, now));
}
