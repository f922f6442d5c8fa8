import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';

import { encodeDataUrl } from './resource.ts';
import { ENCAPSULATED_PATH, readEncapsulated } from './encapsulated.ts';

const machineConfig = (spec: unknown): string =>
  JSON.stringify({
    kind: 'MachineConfig',
    apiVersion: 'machineconfiguration.openshift.io/v1',
    spec,
  });

const rendered = (text: string, version = '3.4.0'): string =>
  JSON.stringify({
    ignition: { version },
    storage: {
      files: [
        { path: '/etc/other', contents: { source: 'data:,x' } },
        { path: ENCAPSULATED_PATH, contents: { source: encodeDataUrl(Buffer.from(text)) } },
      ],
    },
  });

const osImageURL = 'quay.io/openshift/os@sha256:0';
const full = machineConfig({ osImageURL, kernelArguments: ['a=b', 'nosmt'], config: {} });

describe('readEncapsulated', () => {
  it('returns the OS image and the kernel arguments', () => {
    expect(readEncapsulated(Buffer.from(rendered(full)))).toEqual({
      osImageURL,
      kernelArguments: ['a=b', 'nosmt'],
    });
  });

  it.each(['2.2.0', '3.6.0-experimental', ''])('reads a config of version %j', (version) => {
    expect(readEncapsulated(rendered(full, version)).osImageURL).toBe(osImageURL);
  });

  it('reads a compressed MachineConfig', () => {
    const source = encodeDataUrl(gzipSync(full));
    const contents = { source, compression: 'gzip' };
    const config = { storage: { files: [{ path: ENCAPSULATED_PATH, contents }] } };
    expect(readEncapsulated(JSON.stringify(config)).osImageURL).toBe(osImageURL);
  });

  it.each([[undefined], [null], [[]]])('returns no kernel arguments for %j', (kernelArguments) => {
    const text = machineConfig({ osImageURL, kernelArguments });
    expect(readEncapsulated(rendered(text)).kernelArguments).toEqual([]);
  });

  it.each([
    ['an empty text', '', 'ignition.empty'],
    ['a web page', '<html>', 'ignition.html-page'],
    ['invalid JSON', 'x', 'ignition.not-json'],
    ['an array', '[]', 'ignition.encapsulated-missing'],
    [
      'a config without the file',
      '{"storage":{"files":[{"path":"/a"}]}}',
      'ignition.encapsulated-missing',
    ],
    ['a file that is not JSON', rendered('x'), 'ignition.encapsulated-invalid'],
    [
      'a MachineConfig without an OS image',
      rendered(machineConfig({ osImageURL: '' })),
      'ignition.encapsulated-invalid',
    ],
    [
      'a MachineConfig with kernel arguments that are not strings',
      rendered(machineConfig({ osImageURL, kernelArguments: [1] })),
      'ignition.encapsulated-invalid',
    ],
    [
      'a file without contents',
      JSON.stringify({ storage: { files: [{ path: ENCAPSULATED_PATH }] } }),
      'ignition.no-source',
    ],
  ])('refuses %s', (_, text, code) => {
    expect(() => readEncapsulated(text)).toThrow(expect.objectContaining({ code }));
  });
});
