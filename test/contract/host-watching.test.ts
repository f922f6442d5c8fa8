// Watching files of a host, the same for each; what else can befall the real adapter is in host-watch.test.ts.
import { describe, expect, it } from 'vitest';
import { everyHost } from './real/host-subjects.ts';

const { signal } = new AbortController();

everyHost((subject) => {
  describe.each(['shared', 'remote'] as const)('watching in a %s directory', (where) => {
    const path = (file: string): string => `${subject()[where]}/${file}`;

    /** Watches paths until `work` is over; `rung` resolves with the next ring after its call. */
    const watching = async (
      paths: readonly string[],
      work: (rung: () => Promise<void>) => Promise<void>,
    ): Promise<void> => {
      const ending = new AbortController();
      let next = Promise.withResolvers<void>();
      const watch = subject().host.watch(paths, () => next.resolve(), ending.signal);
      const rung = async (): Promise<void> => {
        await next.promise;
        next = Promise.withResolvers<void>();
      };
      try {
        await rung();
        await work(rung);
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

    it('rings when a file comes, changes, is written anew and goes', async () => {
      await watching([path('watched')], async (rung) => {
        await subject().put(path('watched'), 'one');
        await rung();
        await subject().put(path('watched'), 'one and two');
        await rung();
        await subject().host.writeFile(path('watched'), 'three', { signal });
        await rung();
        await subject().host.remove(path('watched'), signal);
        await rung();
        await subject().put(path('watched'), 'again');
        await rung();
      });
      await expect(subject().host.readText(path('watched'), signal)).resolves.toBe('again');
    });

    it('rings for a file whose directories come later', async () => {
      await watching([path('later/auth/kubeconfig')], async (rung) => {
        await subject().put(path('later/auth/kubeconfig'), 'x');
        do await rung();
        while ((await subject().host.readText(path('later/auth/kubeconfig'), signal)) !== 'x');
      });
      await expect(subject().host.list(path('later/auth'), signal)).resolves.toEqual([
        'kubeconfig',
      ]);
    });

    it('rings for names that come to a directory', async () => {
      await subject().put(path('names/first'), '');
      await watching([path('names')], async (rung) => {
        await subject().put(path('names/second'), '');
        await rung();
      });
      await expect(subject().host.list(path('names'), signal)).resolves.toHaveLength(2);
    });

    it('rings for what a chain of links leads to, and when it leads elsewhere', async () => {
      await subject().put(path('pods/0.log'), 'a');
      await subject().put(path('pods/1.log'), 'a');
      await subject().link(path('middle.log'), 'pods/0.log');
      await subject().link(path('first.log'), path('middle.log'));
      await watching([path('first.log')], async (rung) => {
        await subject().put(path('pods/0.log'), 'ab');
        await rung();
        await subject().link(path('middle.log'), 'pods/1.log');
        do await rung();
        while ((await subject().host.realPath(path('first.log'), signal)) !== path('pods/1.log'));
        await subject().put(path('pods/1.log'), 'abc');
        await rung();
      });
      await expect(subject().host.readText(path('first.log'), signal)).resolves.toBe('abc');
    });

    it('rings no more after the signal', async () => {
      const ending = new AbortController();
      let rings = 0;
      const watch = subject().host.watch([path('ended')], () => (rings += 1), ending.signal);
      await expect.poll(() => rings).toBeGreaterThan(0);
      ending.abort(new Error('enough'));
      await expect(watch).resolves.toBeUndefined();
      const before = rings;
      await subject().put(path('ended'), 'x');
      await new Promise((resolve) => setTimeout(resolve, 150));
      expect(rings).toBe(before);
      await expect(
        subject().host.watch([path('ended')], () => (rings += 1), ending.signal),
      ).resolves.toBeUndefined();
      expect(rings).toBe(before);
    });
  });
});
