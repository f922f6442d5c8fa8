import { describe, expect, it } from 'vitest';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { bundleFolder } from '../../layering/log-bundle.ts';
import { masker } from '../../lib/masker.ts';
import { Secret } from '../../model/secret.ts';
import { openBundle } from './log-bundle.ts';

const { signal } = new AbortController();
const bounds = { chunk: 60, bundle: 100 };
const lines = (text: string): string => Array.from({ length: 50 }, () => `${text}\n`).join('');
const give = (text: string | undefined) => () => Promise.resolve(text);

function open() {
  const host = fakeHost();
  const { mask, register } = masker();
  register(new Secret('known-secret'));
  const bundle = openBundle({ host, signal }, { mask }, bounds);
  return { bundle, textOf: (name: string) => host.textOf(`${bundleFolder}/${name}`) };
}

describe('a bundle', () => {
  it('keeps the end of a long log, and less and less of further ones', async () => {
    const { bundle, textOf } = open();
    for (const name of ['one', 'two', 'three']) await bundle.add(name, give(lines(name)));
    await bundle.close('title');
    expect(textOf('one')).toMatch(/^\(earlier lines are left out\)\n(one\n){14}$/);
    expect(textOf('three')).toMatch(/^\(earlier lines are left out\)\n$/);
    expect(textOf('index.txt')).toMatch(/^title\none: \d+ of 200 characters\ntwo: /);
  });

  it('masks what is known and what looks so', async () => {
    const { bundle, textOf } = open();
    await bundle.add('log', give('known-secret token=abc\n'));
    await bundle.add('failed', () => Promise.reject(new Error('known-secret is wrong')));
    await bundle.close('title');
    expect(textOf('log')).toBe('*** token=***\n');
    expect(textOf('index.txt')).toContain('failed: *** is wrong');
  });

  it('says nothing of what is not there', async () => {
    const { bundle, textOf } = open();
    await bundle.add('log', give(undefined));
    await bundle.close('title');
    expect([textOf('log'), textOf('index.txt')]).toEqual([undefined, 'title\n']);
  });

  it('ends with the step', async () => {
    const control = new AbortController();
    control.abort(new Error('over'));
    const bundle = openBundle({ host: fakeHost(), signal: control.signal }, masker());
    await expect(bundle.add('log', give('text'))).rejects.toThrow('over');
  });
});
