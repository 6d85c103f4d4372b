type InputItem = { type: 'text'; text: string } | { type: 'image' };

/** The text of an input, with a word for each image. */
export function inputText(input: readonly InputItem[], separator = '\n'): string {
  return input.map((item) => (item.type === 'text' ? item.text : '[image]')).join(separator);
}
