/** A metric of a server, with a sample for each set of labels. */
interface Metric {
  name: string;
  type: string | null;
  help: string | null;
  samples: { name: string; labels: Record<string, string>; value: number | string }[];
}

/** The metrics in a text of Prometheus. A value that JSON has no number for, such as NaN, stays a text. */
export function metricsDocument(text: string): Metric[] {
  const metrics: Metric[] = [];
  const metricOf = (name: string) => {
    const last = metrics.at(-1);
    if (last?.name === name) return last;
    const metric: Metric = { name, type: null, help: null, samples: [] };
    metrics.push(metric);
    return metric;
  };
  for (const line of text.split('\n')) {
    const [, key, about, rest = ''] = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line) ?? [];
    if (about !== undefined) metricOf(about)[key === 'HELP' ? 'help' : 'type'] = rest;
    const [, name, labels = '', value] = /^(\w[\w:]*)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
    if (name === undefined || value === undefined) continue;
    const { name: last = '' } = metrics.at(-1) ?? {};
    const isPart = name.replace(/_(bucket|sum|count)$/, '') === last;
    const number = Number(value);
    metricOf(isPart ? last : name).samples.push({
      name,
      labels: labelsIn(labels),
      value: Number.isFinite(number) ? number : value,
    });
  }
  return metrics;
}

/** The labels between the braces of a sample. */
function labelsIn(text: string): Record<string, string> {
  const pairs = text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g);
  return Object.fromEntries(
    Array.from(pairs, ([, name = '', value = '']) => [name, JSON.parse(`"${value}"`) as string]),
  );
}
