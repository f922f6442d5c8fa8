import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { managerMetrics } from '../../src/adapters/metrics/manager-metrics.ts';

it('docs/monitoring.md lists exactly the metrics that are served', async () => {
  const page = readFileSync(new URL('../../docs/monitoring.md', import.meta.url), 'utf8');
  const rows = page.split('\n').filter((line) => /^\| `(?:bootwright|process)_/.test(line));
  const listed = rows.flatMap((row) =>
    [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name),
  );
  const text = await managerMetrics().text();
  const served = [...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name);
  expect(listed.toSorted()).toEqual(served.toSorted());
});
