import { describe, expect, it } from 'vitest';

import { mergeSingleNode } from './merge.ts';

const config = (
  version: string,
  { ignition = {}, ...sections }: Record<string, object> = {},
): string => JSON.stringify({ ignition: { version, ...ignition }, ...sections });

const pointer = {
  config: { merge: [{ source: 'https://api-int:22623/config/master' }] },
  security: { tls: { certificateAuthorities: [{ source: 'data:,ca' }] } },
};
const file = (path: string, text: string): object => ({
  path,
  contents: { source: `data:,${text}` },
});

describe('the config of a single node', () => {
  it('is the rendered one with the overrides of the host, without the pointer', () => {
    const merged = mergeSingleNode(
      config('3.2.0', { storage: { files: [file('/a', 'base'), file('/b', 'base')] } }),
      config('3.2.0', { ignition: pointer, storage: { files: [file('/a', 'host')] } }),
    );
    expect(merged).toEqual({
      ignition: { version: '3.2.0', security: pointer.security },
      storage: { files: [file('/a', 'host'), file('/b', 'base')] },
    });
  });

  it.each([
    ['3.1.0', '3.1.0', '3.1.0'],
    ['3.2.0', '3.4.0', '3.4.0'],
    ['3.5.0', '3.0.0', '3.5.0'],
  ])('may be of specs %s and %s and is then of %s', (master, host, version) => {
    expect(mergeSingleNode(config(master), config(host))).toEqual({ ignition: { version } });
  });

  it('keeps a pointer of the rendered config', () => {
    const merged = mergeSingleNode(config('3.2.0', { ignition: pointer }), config('3.2.0'));
    expect(merged.ignition.config).toEqual(pointer.config);
  });

  it('is refused where the two do not go together', () => {
    const link = { path: '/a', target: '/b' };
    const master = config('3.2.0', { storage: { files: [file('/a/c', 'x')] } });
    const host = config('3.2.0', { storage: { links: [link] } });
    expect(() => mergeSingleNode(master, host)).toThrow(
      expect.objectContaining({
        code: 'ignition.merge-invalid',
        context: { rule: 'path-through-link', path: 'storage.files[0]', errors: 1 },
      }),
    );
  });

  it.each([
    ['a host config that is an error message', '{"code":404,"message":"x"}', 'ignition.error-body'],
    ['a host config of spec 2', config('2.2.0'), 'ignition.spec-2'],
    [
      'a host config that breaks a rule',
      config('3.2.0', { storage: { files: [{ path: 'a' }] } }),
      'ignition.invalid',
    ],
  ])('is refused for %s', (_, host, code) => {
    expect(() => mergeSingleNode(config('3.2.0'), host)).toThrow(expect.objectContaining({ code }));
  });
});
