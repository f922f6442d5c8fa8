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

describe('the encapsulated machine config', () => {
  it('says which system to boot, and how', () => {
    expect(readEncapsulated(Buffer.from(rendered(full)))).toEqual({
      osImageURL,
      kernelArguments: ['a=b', 'nosmt'],
    });
  });

  it.each(['2.2.0', '3.6.0-experimental', ''])('is found in a config of version %j', (version) => {
    expect(readEncapsulated(rendered(full, version)).osImageURL).toBe(osImageURL);
  });

  it('may be compressed', () => {
    const source = encodeDataUrl(gzipSync(full));
    const contents = { source, compression: 'gzip' };
    const config = { storage: { files: [{ path: ENCAPSULATED_PATH, contents }] } };
    expect(readEncapsulated(JSON.stringify(config)).osImageURL).toBe(osImageURL);
  });

  it.each([[undefined], [null], [[]]])('may have no kernel arguments: %j', (kernelArguments) => {
    const text = machineConfig({ osImageURL, kernelArguments });
    expect(readEncapsulated(rendered(text)).kernelArguments).toEqual([]);
  });

  it.each([
    ['nothing', '', 'ignition.empty'],
    ['a web page', '<html>', 'ignition.html-page'],
    ['no JSON', 'x', 'ignition.not-json'],
    ['no object', '[]', 'ignition.encapsulated-missing'],
    ['other files', '{"storage":{"files":[{"path":"/a"}]}}', 'ignition.encapsulated-missing'],
    ['no JSON inside', rendered('x'), 'ignition.encapsulated-invalid'],
    [
      'no image inside',
      rendered(machineConfig({ osImageURL: '' })),
      'ignition.encapsulated-invalid',
    ],
    [
      'odd arguments inside',
      rendered(machineConfig({ osImageURL, kernelArguments: [1] })),
      'ignition.encapsulated-invalid',
    ],
    [
      'no content',
      JSON.stringify({ storage: { files: [{ path: ENCAPSULATED_PATH }] } }),
      'ignition.no-source',
    ],
  ])('is refused in what has %s', (_, text, code) => {
    expect(() => readEncapsulated(text)).toThrow(expect.objectContaining({ code }));
  });
});
