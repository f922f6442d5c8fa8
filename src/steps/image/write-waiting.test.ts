import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { rest } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { disk, ran, writeFacts, writer, writingHost } from '../../../test/support/written-disk.ts';
import { hours } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import { write } from './write.ts';

describe('image/write', () => {
  it('gives up when neither the writer nor the disk moves for half an hour', async () => {
    const clock = fakeClock();
    const host = writingHost(clock).withFile('/sys/block/sda/stat', ' 1 2 3 4 5 6 700 8 9');
    host.on(writer.argv()).hangs(writer.read(60));
    const { failure, progress } = await tryStep(write, { host, clock, facts: writeFacts() });
    expect(failure).toMatchObject({
      code: 'image.stalled',
      kind: 'limit',
      context: { phase: 'read' },
    });
    expect(progress.map(({ info }) => info)).toContain('60%, standing for 10 min');
    expect(ran(host)).toEqual([writer.argv(), disk.zero, disk.wipe]);
  });

  it('waits for a slow disk as long as it takes sectors', async () => {
    const clock = fakeClock();
    const host = writingHost(clock);
    const slow = {
      ...host,
      readText: () => Promise.resolve(`1 2 3 4 5 6 ${clock.now()} 8 9`),
    };
    host.on(writer.argv()).answers(async (_argv, _host, { signal }) => {
      await clock.sleep(hours(2), signal);
      return { stderr: writer.done };
    });
    const { value } = await runStep(write, { host: slow, clock, facts: writeFacts() });
    expect(value).toEqual({ disk: '/dev/sda' });
  });

  it.each([
    ['ends', 3, undefined, 1],
    ['does not end', Infinity, 'disk.busy', 0],
  ])(
    'waits for a writer that an earlier run left behind, and it %s',
    async (...[, looks, code, writes]) => {
      const clock = fakeClock();
      let left = looks;
      const host = writingHost(clock)
        .withFile('/proc/812/comm', 'coreos-installer\n')
        .on(['find', rest])
        .answers(() => (--left < 0 ? '' : '/proc/812/fd/7 /dev/sda\n'))
        .on(writer.argv())
        .prints('', writer.done);
      const { failure, events } = await tryStep(write, { host, clock, facts: writeFacts() });
      expect((failure as AgentError | undefined)?.code).toBe(code);
      const status = '/dev/sda is open in coreos-installer (process 812)';
      expect(events).toContainEqual(expect.objectContaining({ status }));
      expect(ran(host)).toHaveLength(writes);
      if (code !== undefined) expect((failure as AgentError).message).toContain(status);
    },
  );
});
