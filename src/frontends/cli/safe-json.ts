/** A text with everything that a terminal would hide or obey as escapes of JSON, if it goes to a terminal. */
export function safeOn({ isTTY }: { isTTY?: boolean }, text: string): string {
  if (isTTY !== true) return text;
  return text.replaceAll(
    /(?!\n)[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu,
    (character) =>
      Array.from(
        character.split(''),
        (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
      ).join(''),
  );
}
