import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fakeClock } from '../../test/support/fake-clock.ts';
import { inventoryFailure } from '../adapters/http/failures.ts';
import { minutes } from '../model/duration.ts';
import type { AgentError } from '../model/failure.ts';
import { pageAfter } from '../page/fold.ts';
import { livePage } from '../page/server.ts';
import { emptyPage, type PageUpdate } from '../page/state.ts';
import type { ClusterOverview } from '../ports/inventory.ts';
import { followService, requireInstalled, watchFlags } from './watch.ts';
import { bootwright } from './program/commands.ts';

const id = '11111111-1111-4111-8111-111111111111';

it.each([
  [`https://s:6008 --cluster-id ${id}`, `--url https://s:6008 --cluster-id ${id}`],
  [`--cluster-id ${id} https://s:6008`, `--url https://s:6008 --cluster-id ${id}`],
  [
    `https://s:6008/base/api/assisted-install/v2/clusters/${id}?x=1`,
    `--url https://s:6008/base --cluster-id ${id}`,
  ],
  ['--insecure http://s', '--url http://s --insecure'],
  [`--insecure http://s --cluster-id ${id}`, `--url http://s --insecure --cluster-id ${id}`],
  ['--service.url http://s', '--service.url http://s'],
  [`--cluster-id ${id}`, `--cluster-id ${id}`],
  ['--url https://s', '--url https://s'],
  ['', ''],
])('watchFlags maps "%s" to "%s"', (line, flags) => {
  const words = (text: string) => (text === '' ? [] : text.split(' '));
  expect(watchFlags(words(line))).toEqual(words(flags));
});

describe('requireInstalled', () => {
  const failed: readonly PageUpdate[] = [
    { kind: 'cluster', at: 1, status: 'installing', info: '' },
    { kind: 'host', at: 1, id: 'a', name: 'm1', role: 'master', rail: [] },
    { kind: 'host-end', at: 2, host: 'a', isGood: false, text: 'no token-1 fits' },
  ];
  const end = (isGood: boolean): PageUpdate => ({
    kind: 'end',
    at: 3,
    isGood,
    text: isGood ? 'installed' : 'error',
    details: ['why'],
  });
  const outcome = (updates: readonly PageUpdate[], lastFailure?: AgentError): void => {
    const page = updates.reduce(pageAfter, emptyPage('Installation', 'https://s', 0));
    const mask = (text: string): string => text.replaceAll('token-1', '***');
    requireInstalled(
      page,
      { subject: 'cluster c', mask, lastFailure: () => lastFailure },
      minutes(90),
    );
  };

  it('accepts a page with a good end', () => {
    expect(() => outcome([...failed, end(true)])).not.toThrow();
  });

  it.each<[string, string, readonly PageUpdate[]]>([
    [
      'cli.not-installed',
      'cluster c is not installed: error; why; m1: no *** fits',
      [...failed, end(false)],
    ],
    [
      'cli.not-installed-in-time',
      'cluster c is not installed within 1 h 30 min: installing; m1: no *** fits',
      failed,
    ],
    [
      'cli.not-installed-in-time',
      'cluster c is not installed within 1 h 30 min: refused',
      [{ kind: 'source', at: 1, lastError: 'refused' }],
    ],
    [
      'cli.not-installed-in-time',
      'cluster c is not installed within 1 h 30 min: its state is not known',
      [],
    ],
  ])('throws %s: %s', (code, message, updates) => {
    expect(() => outcome(updates)).toThrow(expect.objectContaining({ code, message }));
  });

  it('throws the failure of the last request when the service never answered', () => {
    const message = 'connection refused';
    const failure = inventoryFailure('inventory.unreachable', message);
    expect(() => outcome([{ kind: 'source', at: 1, lastError: message }], failure)).toThrow(
      expect.objectContaining({ code: 'inventory.unreachable', kind: 'remote', message }),
    );
    expect(() => outcome([{ kind: 'source', at: 1 }], failure)).toThrow(/is not installed within/);
  });
});

describe('followService with a service that refuses', () => {
  const cluster: ClusterOverview = {
    id,
    name: 'lab',
    status: 'installing',
    statusInfo: '',
    version: '4.20.1',
    isSingleNode: false,
    finalizing: '',
    startedAt: 0,
    completedAt: undefined,
    operators: [],
    hosts: [],
  };
  const denied = inventoryFailure('inventory.denied', 'GET /c answered 401: token-1');
  const missing = inventoryFailure('inventory.not-found', 'GET /c answered 404');
  const untrusted = inventoryFailure('inventory.untrusted', 'self-signed certificate');
  const away = inventoryFailure('inventory.unreachable', 'connection refused');

  const printed: string[] = [];
  beforeEach(() => {
    printed.length = 0;
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => printed.push(String(text)) > 0);
  });
  afterEach(() => void vi.restoreAllMocks());

  /** Follows a service that returns these answers in order and repeats the last one. */
  async function followed(answers: readonly (ClusterOverview | Error)[], until?: string) {
    const clock = fakeClock();
    const page = livePage(emptyPage('Installation', 's', 0));
    const stop = new AbortController();
    let count = 0;
    const overview = (): Promise<ClusterOverview> => {
      const answer = answers[Math.min(count, answers.length - 1)] ?? cluster;
      count += 1;
      if (clock.elapsed() >= minutes(10)) stop.abort(new Error('in time'));
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    };
    const mask = (text: string): string => text.replaceAll('token-1', '***');
    const thrown: unknown = await followService({
      page,
      clock,
      mask,
      until,
      inventory: { overview },
      signal: stop.signal,
    }).catch((error: unknown) => error);
    return { thrown, elapsed: clock.elapsed(), page: page.state() };
  }

  it.each([
    [denied, 'GET /c answered 401: ***', 'token refused'],
    [missing, 'GET /c answered 404', 'no such cluster'],
    [untrusted, 'self-signed certificate', 'certificate not trusted'],
  ])(
    'ends a wait with the first refusal if the service has never answered: %s',
    async (refused, message, refusal) => {
      const { thrown, elapsed, page } = await followed([away, refused], 'installed');
      expect(thrown).toMatchObject({ code: refused.code, message });
      expect(elapsed).toBe(20_000);
      expect(page).toMatchObject({ refusal, lastError: `${message}; ${refused.hint}` });
    },
  );

  it('shows no secret in what the service reports', async () => {
    const operator = { name: 'console', type: '', namespace: '', subscription: '', version: '' };
    const reported = {
      ...cluster,
      statusInfo: 'bad key token-1',
      operators: [{ ...operator, status: 'failed' as const, statusInfo: 'no token-1' }],
    };
    const { page } = await followed([reported]);
    expect(JSON.stringify(page)).toContain('bad key ***');
    expect(JSON.stringify(page)).not.toContain('token-1');
  });

  it('says of each error only what is true, and a final one once', async () => {
    const context = { status: 503 };
    const answered = inventoryFailure('inventory.unreachable', 'GET /c answered 503', {
      context,
      hint: 'check it',
    });
    await followed([away, answered, denied, untrusted, cluster, away]);
    expect(printed).toEqual([
      `note: not reached yet: connection refused; ${away.hint}\n`,
      'note: GET /c answered 503; check it\n',
      `note: token refused: GET /c answered 401: ***; ${denied.hint}\n`,
      `note: self-signed certificate; ${untrusted.hint}\n`,
      'note: the source of the page answers\n',
      `note: no answer: connection refused; ${away.hint}\n`,
    ]);
    printed.length = 0;
    await followed([untrusted], 'installed');
    expect(printed).toEqual([]);
  });

  it.each([denied, missing])('continues without --until: %s', async (refused) => {
    const { thrown, page } = await followed([refused]);
    expect(thrown).toMatchObject({ message: 'in time' });
    expect(page.end).toBeUndefined();
  });

  it('tolerates refusals for two minutes after an answer', async () => {
    const passing = await followed(
      [cluster, denied, missing, cluster, { ...cluster, status: 'installed' }],
      'installed',
    );
    expect(passing.page).toMatchObject({ end: { isGood: true }, refusal: undefined });
    const lasting = await followed([cluster, denied], 'installed');
    expect(lasting).toMatchObject({ thrown: { code: 'inventory.denied' }, elapsed: minutes(2) });
  });

  it.each([undefined, 'installed'])(
    'reports a cluster that is missing for two minutes as deleted (--until %s)',
    async (until) => {
      const { thrown, elapsed, page } = await followed([cluster, missing], until);
      expect(thrown).toBeUndefined();
      expect(elapsed).toBe(minutes(2));
      expect(page).toMatchObject({ cluster: { status: 'deleted' }, end: { text: 'deleted' } });
      expect(() => requireInstalled(page, { subject: 's', mask: String })).toThrow(
        /s is not installed: deleted; the service does not have the cluster any more/,
      );
    },
  );
});

const host = 'http://m1:9110/status';
it.each([
  ['http://m1:99999/status', '--until', 'installed', '--timeout', '1s'],
  ['http://m 1/status'],
  [host, '--cluster-id', 'x'],
  ['http://s', '--listen', '8080'],
  [host, '--timeout', '1s'],
])('watch refuses %j', async (...words) => {
  await expect(bootwright().run(['watch', ...words])).rejects.toMatchObject({
    code: 'cli.bad-flag',
  });
});
