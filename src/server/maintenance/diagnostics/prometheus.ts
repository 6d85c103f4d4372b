/** One value of a metric, with its labels. */
export interface Sample {
  labels?: Record<string, string>;
  value: number;
}

export type Metric = { name: string; help: string } & (
  | { type: 'counter' | 'gauge'; samples: readonly Sample[] }
  | {
      type: 'histogram';
      /** Cumulative counts by rising upper bounds; the bucket without a bound is added. */
      buckets: readonly { bound: number; count: number }[];
      sum: number;
      count: number;
    }
  | {
      type: 'summary';
      quantiles: readonly { quantile: number; value: number }[];
      sum: number;
      count: number;
    }
);

/** The content type of the text that `exposition` returns. */
export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Formats metrics in the text format of Prometheus. */
export function exposition(metrics: readonly Metric[]): string {
  return metrics.map(family).join('');
}

function family(metric: Metric): string {
  const { name, help, type } = metric;
  const text = help.replaceAll('\\', String.raw`\\`).replaceAll('\n', String.raw`\n`);
  return `# HELP ${name} ${text}\n# TYPE ${name} ${type}\n${linesOf(metric).join('')}`;
}

function linesOf(metric: Metric): string[] {
  const { name } = metric;
  switch (metric.type) {
    case 'counter':
    case 'gauge':
      return metric.samples.map(({ labels = {}, value }) => line(name, labels, value));
    case 'histogram':
      return [
        ...metric.buckets.map(({ bound, count }) =>
          line(`${name}_bucket`, { le: String(bound) }, count),
        ),
        line(`${name}_bucket`, { le: '+Inf' }, metric.count),
        ...totals(metric),
      ];
    case 'summary':
      return [
        ...metric.quantiles.map(({ quantile, value }) =>
          line(name, { quantile: String(quantile) }, value),
        ),
        ...totals(metric),
      ];
  }
}

function totals({ name, sum, count }: { name: string; sum: number; count: number }): string[] {
  return [line(`${name}_sum`, {}, sum), line(`${name}_count`, {}, count)];
}

function line(name: string, labels: Record<string, string>, value: number): string {
  const named = Object.entries(labels).map(([key, text]) => `${key}="${escaped(text)}"`);
  return `${name}${named.length > 0 ? `{${named.join(',')}}` : ''} ${value}\n`;
}

function escaped(text: string): string {
  return text
    .replaceAll('\\', String.raw`\\`)
    .replaceAll('"', String.raw`\"`)
    .replaceAll('\n', String.raw`\n`);
}
