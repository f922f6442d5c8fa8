// Contract of watching a host's files, the same for every host.
import { describe, expect, it } from 'vitest';
import { everyHost } from './real/host-subjects.ts';

const { signal } = new AbortController();

everyHost((subject) => {
  describe('watching', () => {
    const path = (file: string): string => `${subject().folder}/${file}`;

    /**
     * Watches paths until `work` is over; `rung` resolves with the next notification after its
     * call.
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

    it('rings once at the beginning, also when nothing is there', async () => {
      const polls: string[] = [];
      await watching([path('nowhere/at/all')], () => Promise.resolve(void polls.push('rung')));
      expect(polls).toEqual(['rung']);
    });

    it('rings when a file comes, changes, is written again and goes', async () => {
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

    it('rings for a file whose directories come later', async () => {
      await watching([path('later/auth/kubeconfig')], async (notified) => {
        await subject().put(path('later/auth/kubeconfig'), 'x');
        do await notified();
        while ((await subject().host.readText(path('later/auth/kubeconfig'), signal)) !== 'x');
      });
      await expect(subject().host.list(path('later/auth'), signal)).resolves.toEqual([
        'kubeconfig',
      ]);
    });

    it('rings for what a chain of links leads to, and when it leads elsewhere', async () => {
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

    it('rings no more after the signal', async () => {
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
