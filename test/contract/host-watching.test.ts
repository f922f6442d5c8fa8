// Contract of watching a host's files, the same for every host.
import { describe, expect, it } from 'vitest';
import { everyHost } from './real/host-subjects.ts';

const { signal } = new AbortController();

everyHost((subject) => {
  describe('watching', () => {
    const path = (file: string): string => `${subject().folder}/${file}`;

    /**
     * Watches paths until `work` is over; `notified` resolves with the next notification.
     */
    const watching = async (
      paths: readonly string[],
      work: (notified: () => Promise<void>) => Promise<void>,
    ): Promise<void> => {
      const ending = new AbortController();
      let next = Promise.withResolvers<void>();
      const watch = subject().host.watch(paths, () => next.resolve(), ending.signal);
      const notified = async (): Promise<void> => {
        await next.promise;
        next = Promise.withResolvers<void>();
      };
      try {
        await notified();
        await work(notified);
      } finally {
        ending.abort(new Error('the test is over'));
        await watch;
      }
    };

    it('notifies once at the start, even for a missing file', async () => {
      const polls: string[] = [];
      await watching([path('nowhere/at/all')], () => Promise.resolve(void polls.push('notified')));
      expect(polls).toEqual(['notified']);
    });

    it('notifies when a file is created, changed, replaced and removed', async () => {
      await watching([path('watched')], async (notified) => {
        await subject().put(path('watched'), 'one');
        await notified();
        await subject().put(path('watched'), 'one and two');
        await notified();
        await subject().host.writeFile(path('watched'), 'three', { signal });
        await notified();
        await subject().host.remove(path('watched'), signal);
        await notified();
        await subject().put(path('watched'), 'again');
        await notified();
      });
      await expect(subject().host.readText(path('watched'), signal)).resolves.toBe('again');
    });

    it('notifies for a file whose directories are created later', async () => {
      await watching([path('later/auth/kubeconfig')], async (notified) => {
        await subject().put(path('later/auth/kubeconfig'), 'x');
        do await notified();
        while ((await subject().host.readText(path('later/auth/kubeconfig'), signal)) !== 'x');
      });
      await expect(subject().host.list(path('later/auth'), signal)).resolves.toEqual([
        'kubeconfig',
      ]);
    });

    it('notifies for the target of a chain of symlinks and for a change of the chain', async () => {
      await subject().put(path('pods/0.log'), 'a');
      await subject().put(path('pods/1.log'), 'a');
      await subject().link(path('middle.log'), 'pods/0.log');
      await subject().link(path('first.log'), path('middle.log'));
      await watching([path('first.log')], async (notified) => {
        await subject().put(path('pods/0.log'), 'ab');
        await notified();
        await subject().link(path('middle.log'), 'pods/1.log');
        do await notified();
        while ((await subject().host.realPath(path('first.log'), signal)) !== path('pods/1.log'));
        await subject().put(path('pods/1.log'), 'abc');
        await notified();
      });
      await expect(subject().host.readText(path('first.log'), signal)).resolves.toBe('abc');
    });

    it('does not notify after the signal', async () => {
      const ending = new AbortController();
      let count = 0;
      const watch = subject().host.watch([path('ended')], () => (count += 1), ending.signal);
      await expect.poll(() => count).toBeGreaterThan(0);
      ending.abort(new Error('enough'));
      await expect(watch).resolves.toBeUndefined();
      const before = count;
      // Twice: another polling watch may be ahead of the ended one by less than a poll.
      await watching([path('ended')], async (notified) => {
        for (const content of ['x', 'longer']) {
          await subject().put(path('ended'), content);
          await notified();
        }
      });
      expect(count).toBe(before);
      await expect(
        subject().host.watch([path('ended')], () => (count += 1), ending.signal),
      ).resolves.toBeUndefined();
      expect(count).toBe(before);
    });
  });
});
