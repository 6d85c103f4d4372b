/** Amounts of what turns use; null: none is given. */
export interface Amounts {
  tokens: number | null;
  cost_usd: number | null;
  turns: number | null;
}

/** A count for people, such as `1,234,567`. */
export function quantity(count: number): string {
  return Math.round(count).toLocaleString('en');
}

/** An amount of US dollars, such as `$1.50`, with up to four digits for parts of a dollar. */
export function dollars(amount: number): string {
  const digits = { minimumFractionDigits: 2, maximumFractionDigits: 4 };
  return `$${amount.toLocaleString('en', digits)}`;
}

/** Describes spent and allowed amounts: `104,000 of 100,000 tokens, 3 of 10 turns`. */
export function spentText({ spent, allowed }: { spent: Amounts; allowed: Amounts }): string {
  return textOf(allowed, (one, text) => `${text(spent[one] ?? 0)} of `);
}

/** Amounts, such as `204,000 tokens, $2.00`. */
export function amountsText(amounts: Amounts): string {
  return textOf(amounts, () => '');
}

type Measure = keyof Amounts;

function textOf(
  amounts: Amounts,
  before: (measure: Measure, text: (amount: number) => string) => string,
): string {
  const parts = (['tokens', 'cost_usd', 'turns'] as const).flatMap((one) => {
    const amount = amounts[one];
    if (amount === null) return [];
    const text = one === 'cost_usd' ? dollars : quantity;
    return `${before(one, text)}${text(amount)}${unitOf(one, amount)}`;
  });
  return parts.join(', ');
}

function unitOf(measure: Measure, amount: number): string {
  if (measure === 'cost_usd') return '';
  return ` ${amount === 1 ? measure.slice(0, -1) : measure}`;
}
