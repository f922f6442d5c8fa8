import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { livePage, pageDocument } from './server.ts';
import { pageAfter } from './fold.ts';
import { html } from './html.ts';
import { railOfStages } from './rail.ts';
import { emptyPage, type PageState, type PageUpdate } from './state.ts';

const evil = `<script>alert(1)</script>"'&<img src=x onerror=alert(2)>`;

const updates: readonly PageUpdate[] = [
  {
    kind: 'host',
    at: 1,
    id: evil,
    name: evil,
    role: evil,
    rail: railOfStages(['Installing', 'Done']),
  },
  { kind: 'stage', at: 2, host: evil, stage: 'Installing', info: evil, status: evil },
  { kind: 'cluster', at: 3, status: evil, info: evil },
  { kind: 'object', at: 4, object: { kind: evil, name: evil, state: evil, tone: 'good' } },
  { kind: 'fault', at: 5, where: evil, what: evil },
  { kind: 'source', at: 6, lastError: evil },
  { kind: 'phase', at: 7, host: evil, phase: evil },
  {
    kind: 'host-end',
    at: 8,
    host: evil,
    isGood: false,
    text: evil,
    failure: { code: evil, message: evil, hint: evil, logs: evil },
  },
  { kind: 'end', at: 9, isGood: false, text: evil, details: [evil] },
];

const page: PageState = updates.reduce(pageAfter, emptyPage(evil, evil, 0));

describe.each(['live', 'saved'] as const)('a %s page', (mode) => {
  const text = pageDocument(page, 10, mode);

  it('escapes external texts', () => {
    expect(text.match(/<script/g)).toHaveLength(1);
    expect(text).not.toContain('<img');
    expect(text).toContain('&lt;script&gt;alert(1)');
  });

  it('allows only its own style and script by their hashes', () => {
    const [, policy = ''] = /Content-Security-Policy" content="([^"]+)"/.exec(text) ?? [];
    const hashOf = (tag: string): string => {
      const [, body = ''] = new RegExp(`<${tag}>([^]*?)</${tag}>`).exec(text) ?? [];
      return `'sha256-${createHash('sha256').update(body).digest('base64')}'`;
    };
    expect(policy.replaceAll('&#39;', "'").split('; ')).toEqual([
      "default-src 'none'",
      `style-src ${hashOf('style')}`,
      `script-src ${hashOf('script')}`,
      ...(mode === 'live' ? ["connect-src 'self'"] : []),
      "base-uri 'none'",
      "form-action 'none'",
    ]);
  });

  it('loads nothing, links only within itself, and has no inline style or event handler', () => {
    const tags = text
      .replaceAll(/<(style|script)>[^]*?<\/\1>/g, '')
      .replaceAll(/="([^"]?)[^"]*"/g, '="$1"');
    expect(tags).not.toMatch(/<[^>]+\s(src|style|on\w+)=/);
    expect(tags).not.toMatch(/\shref="[^#"]/);
  });
});

const saved = (...all: readonly PageUpdate[]): string =>
  pageDocument(all.reduce(pageAfter, emptyPage('', '', 0)), 9, 'saved');

/** Returns the text of a page without its tags. */
const textOf = (...all: readonly PageUpdate[]): string =>
  saved(...all)
    .replaceAll(/<(style|script|title)[^]*?<\/\1>|<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ');

describe('a failed installation', () => {
  const operator = (name: string, tone: 'good' | 'bad' | 'waiting'): PageUpdate => ({
    kind: 'object',
    at: 1,
    object: { kind: 'Operator', name, state: tone === 'bad' ? 'no route' : tone, tone },
  });
  const error: readonly PageUpdate[] = [
    { kind: 'cluster', at: 2, status: 'error', info: 'took 10 seconds', logs: '/logs' },
    { kind: 'end', at: 3, isGood: false, text: 'error', details: ['took 10 seconds'] },
  ];
  const host = (name: string): PageUpdate => ({
    kind: 'host',
    at: 1,
    id: name,
    name,
    role: 'master',
    rail: railOfStages(['Installing']),
  });
  const failure = { code: 'disk.busy', message: 'in use', hint: 'unmount it', logs: '' };
  const failed: PageUpdate = {
    kind: 'host-end',
    at: 2,
    host: 'm2',
    isGood: false,
    text: 'failed',
    failure,
  };

  it('lists only the operator that failed', () => {
    const text = textOf(
      operator('console', 'bad'),
      operator('etcd', 'waiting'),
      operator('dns', 'good'),
      ...error,
    );
    expect(text).toContain(
      'operator console cluster error failed: took 10 seconds operator console: no route next: oc describe clusteroperator console logs: /logs',
    );
    expect(text.match(/took 10 seconds/g)).toHaveLength(2);
    expect(text).not.toMatch(/etcd never|operator etcd/);
  });

  it('says that a host had rebooted before another one failed', () => {
    const text = textOf(
      ...['m1', 'm2'].map(host),
      { kind: 'stage', at: 1, host: 'm1', stage: 'Rebooting', info: '', status: 'installing' },
      failed,
      { ...failed, host: 'm1', isStopped: true, text: 'rebooted', failure: undefined },
    );
    expect(text).toContain('m1 master ■ rebooted into its disk before m2 failed');
    expect(text).not.toContain('stopped because');
  });

  it('says that the service has not heard of a failure', () => {
    const cluster = { at: 1, status: 'installing', info: 'Installation in progress' } as const;
    const unheard = [host('m2'), { kind: 'cluster', ...cluster }, failed] as const;
    const text = textOf(...unheard);
    expect(text).toContain('the service does not know of the failure');
    expect(text).not.toMatch(/cluster installing|in progress/);
    const stage = { kind: 'stage', at: 3, host: 'm2', stage: '', info: '' } as const;
    expect(textOf(...unheard, { ...stage, status: 'error' })).toContain('cluster installing');
  });

  it('shows notes beside the failure, and no object as in progress', () => {
    const notes = ['it needs no reset'];
    const end = { kind: 'end', at: 3, isGood: false, text: 'failed', details: [], notes } as const;
    const text = textOf(operator('etcd', 'waiting'), end);
    expect(text).toContain('it needs no reset');
    expect(text).toContain('○ etcd waiting');
    expect(textOf(operator('etcd', 'waiting'))).toContain('◐ etcd waiting');
  });

  it('lists the failed host first and the others as stopped because of it', () => {
    const stopped = { ...failed, at: 1, host: 'm1', isStopped: true, text: 'stopped' } as const;
    const shown: readonly PageUpdate[] = [
      ...['m1', 'm2', 'm3'].map(host),
      { ...stopped, failure: undefined },
      failed,
      { kind: 'stage', at: 2, host: 'm3', stage: '', info: '', status: 'stopped' },
      operator('console', 'bad'),
      ...error,
    ];
    const text = textOf(...shown);
    expect(text).toMatch(
      /m2 master ✕ failed .*m1 master ■ stopped because m2 failed .*m3 master ■/,
    );
    expect(text.match(/next: /g)).toEqual(['next: ']);
    expect(saved(...shown)).toMatch(/<progress\s+class="is-bad"/);
  });
});

it('a page has the heading Faults only if there are faults', () => {
  expect(textOf()).not.toContain('Faults');
  const fault: PageUpdate = { kind: 'fault', at: 1, where: 'm2', what: 'power-loss' };
  expect(textOf(fault)).toContain('Faults that the lab injects ✕ m2 power-loss');
});

it('html escapes texts and inserts nested HTML unchanged', () => {
  expect(html`<b title="${'"'}">${['<', html`<i>${1}</i>`, undefined]}</b>`.text).toBe(
    '<b title="&quot;">&lt;<i>1</i></b>',
  );
});

describe('livePage', () => {
  it('sends only the changes since the last call', () => {
    const live = livePage(emptyPage('lab', '', 0));
    const at = 2000;
    live.update({ kind: 'host', at, id: 'h', name: 'm1', role: 'master', rail: [] });
    expect(live.changes(at)?.sections.map(({ id }) => id)).toEqual([
      ...['state', 'last-error', 'failures', 'legend', 'host-1', 'objects', 'faults', 'timeline'],
    ]);
    expect(live.changes(at)).toBeUndefined();
    live.update({ kind: 'fault', at, where: 'm1', what: 'power-loss' });
    const change = live.changes(at);
    expect(change?.sections.map(({ id }) => id)).toEqual(['faults']);
    expect(change?.lines).toContain('id="l1-2000"');
    live.update({ kind: 'line', at, source: 'x', level: 'info', text: 'second' });
    expect(live.changes(at)).toMatchObject({ sections: [], lineCount: 2 });
    expect(live.whole(at).lines).toContain('id="l1-2000"');
  });

  it('marks the last change', () => {
    const live = livePage(emptyPage('lab', '', 0));
    live.update({ kind: 'end', at: 1, isGood: true, text: 'installed', details: [] });
    expect(live.changes(2)?.isOver).toBe(true);
  });
});
