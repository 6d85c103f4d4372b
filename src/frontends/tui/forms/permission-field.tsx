import { Box } from 'ink';
import type { ReactNode } from 'react';
import type { permissionModes } from '../../../api/permission-modes.ts';
import { ownEntry } from '../../../core/lib/own-entry.ts';
import { StyledText } from '../styled-text.tsx';
import { Field, type FieldProps } from './field.tsx';

/** A line for each permission mode. `bypass` is another name of `full_access`. */
export const permissionTexts: Readonly<Record<string, string>> = {
  require_approval: 'asks you before it acts',
  default: 'settings of the agent; what they do not allow is declined',
  read_only: 'only reads; other requests are declined',
  workspace_write: 'edits files in its directory; other requests are declined',
  accept_edits: 'edits files; other requests are declined',
  full_access: 'does everything without asking',
} satisfies Record<Exclude<(typeof permissionModes)[number], 'bypass'>, string>;

interface PermissionProps extends Omit<FieldProps, 'rows' | 'placeholder'> {
  /** The mode of the empty field. */
  byDefault: string;
  /** Whether there is room for a line for each mode. */
  hasRoom: boolean;
}

/** The permission mode with what it means, and while it is chosen a line for each mode. */
export function PermissionField({ byDefault, hasRoom, ...field }: PermissionProps): ReactNode {
  const { editor, columns, isActive } = field;
  const mode = editor.text.trim() || byDefault;
  const means = ownEntry(permissionTexts, mode) ?? 'mode of the agent';
  const isDefault = editor.text === '';
  return (
    <Box flexDirection="column" flexShrink={0} width={columns}>
      <Box height={1} overflow="hidden">
        <Box flexShrink={0}>
          <Field
            {...field}
            columns={isDefault ? columns : Math.min(columns, editor.text.length + 1)}
            rows={1}
            placeholder={`${mode}: ${means}`}
          />
        </Box>
        {!isDefault && <StyledText tone="faint">{`: ${means}`}</StyledText>}
      </Box>
      {isActive &&
        hasRoom &&
        Object.entries(permissionTexts).map(([name, text]) => (
          <StyledText key={name} tone={name === mode ? 'name' : 'faint'}>
            {`${name === mode ? '●' : '○'} ${name}: ${text}`}
          </StyledText>
        ))}
    </Box>
  );
}
