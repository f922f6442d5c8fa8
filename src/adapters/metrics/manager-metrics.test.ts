import { expect, it } from 'vitest';
import { keyQueue } from '../../kube/queue.ts';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import type { CountedHost } from '../../ports/manager-metrics.ts';
import { managerMetrics } from './manager-metrics.ts';

const host = (stage?: string): CountedHost =>
  stage === undefined ? {} : { status: { progress: { stage } } };

it('managerMetrics counts hosts by stage, report times, installer runs and queued keys', async () => {
  const metrics = managerMetrics();
  metrics.countHosts(() => [host(), host('Installing'), host('Installing')]);
  for (const took of [40, 600, 60_000]) metrics.reportTaken(took);
  metrics.installerEnded('failed');
  const clock = fakeClock({ auto: false });
  const stop = new AbortController();
  const queue = keyQueue(
    { clock, signal: stop.signal },
    {
      atOnce: 1,
      reconcile: () => new Promise(() => undefined),
      failed: () => undefined,
    },
  );
  metrics.queueOpened('capi/work', queue.size);
  for (const key of ['a', 'b']) queue.add(key);
  queue.add('c', 1000);
  await settle();
  const lines = (await metrics.text()).split('\n');
  for (const line of [
    '# TYPE bootwright_hosts gauge',
    'bootwright_hosts{stage="none"} 1',
    'bootwright_hosts{stage="Installing"} 2',
    'bootwright_host_report_seconds_bucket{le="0.05"} 1',
    'bootwright_host_report_seconds_bucket{le="1"} 2',
    'bootwright_host_report_seconds_bucket{le="+Inf"} 3',
    'bootwright_host_report_seconds_sum 60.64',
    'bootwright_host_report_seconds_count 3',
    'bootwright_installer_runs_total{result="made"} 0',
    'bootwright_installer_runs_total{result="failed"} 1',
    'bootwright_queue_keys{controller="capi/work",state="running"} 1',
    'bootwright_queue_keys{controller="capi/work",state="due"} 1',
    'bootwright_queue_keys{controller="capi/work",state="later"} 1',
  ])
    expect(lines).toContain(line);
  stop.abort(new Error('the test ends'));
});
