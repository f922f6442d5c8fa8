import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { servedIgnition } from '../../../test/layering/served.ts';
import { parseValidConfig } from '../../ignition/parse.ts';
import { readPointer } from '../../ignition/pointer.ts';
import { decodeDataUrl } from '../../ignition/resource.ts';
import { embedServed, overlayImage } from './served-config.ts';

const image = `registry.example.com/ocl/worker@sha256:${'b'.repeat(64)}`;
const rendered = `rendered-worker-${'1'.repeat(32)}`;
const release = { rendered, osImage: 'quay.example/rhcos@sha256:9' };

interface Read {
  storage: { files: { path: string; contents: { source: string; compression?: string } }[] };
}

const fileIn = (text: string, end: string) => {
  const file = (JSON.parse(text) as Read).storage.files.find(({ path }) => path.endsWith(end));
  if (file === undefined) throw new Error(`no file ${end}`);
  return file;
};

const contentIn = (text: string, end: string): string =>
  Buffer.from(decodeDataUrl(fileIn(text, end).contents.source)).toString();

/** The served config with the content of both files in another encoding. */
function served(reform: (source: string) => object): string {
  const config = JSON.parse(servedIgnition(release)) as Read;
  for (const file of config.storage.files) {
    Object.assign(file, { contents: reform(file.contents.source) });
  }
  return JSON.stringify(config);
}

describe('overlayImage', () => {
  it('equals the config that is served for a pool with the image', () => {
    const other = servedIgnition({ rendered, osImage: image, image });
    expect(JSON.parse(overlayImage(servedIgnition(release), image))).toEqual(JSON.parse(other));
  });

  it('changes nothing the second time or in a config that already has the image', () => {
    const once = overlayImage(servedIgnition(release), image);
    expect(overlayImage(once, image)).toBe(once);
    const layered = servedIgnition({ rendered, osImage: image, image });
    expect(JSON.parse(overlayImage(layered, image))).toEqual(JSON.parse(layered));
  });

  it('changes only the annotations and the encapsulated MachineConfig', () => {
    const config = JSON.parse(servedIgnition(release)) as Read;
    const other = {
      path: '/etc/hostname',
      mode: 0o600,
      user: { name: 'core' },
      contents: { source: 'data:,a%0a', verification: { hash: 'sha256-0' } },
    };
    const units = [{ name: 'kubelet.service', enabled: true, contents: '[Unit]\n' }];
    const whole = {
      ...config,
      systemd: { units },
      storage: { files: [...config.storage.files, other] },
    };
    const overlaid = JSON.parse(overlayImage(JSON.stringify(whole), image)) as typeof whole;
    const [annotations, encapsulated] = overlaid.storage.files;
    expect(overlaid).toEqual({
      ...whole,
      storage: {
        files: [
          { ...whole.storage.files[0], contents: annotations?.contents },
          { ...whole.storage.files[1], contents: encapsulated?.contents },
          other,
        ],
      },
    });
  });

  it('writes the annotations compact and sorted, as the server does', () => {
    const text = contentIn(overlayImage(servedIgnition(release), image), 'node-annotations.json');
    const keys = Object.keys(JSON.parse(text) as object);
    expect(keys).toEqual([...keys].sort());
    expect(text).not.toMatch(/\s/);
  });

  it('reads compressed content in base64', () => {
    const text = served((source) => ({
      source: `data:;base64,${gzipSync(decodeDataUrl(source)).toString('base64')}`,
      compression: 'gzip',
      verification: {},
    }));
    expect(overlayImage(text, image)).toBe(overlayImage(servedIgnition(release), image));
  });

  it.each([
    ['no annotations', { annotations: undefined }, 'ignition.file-missing'],
    ['malformed annotations', { annotations: '{' }, 'layering.served-config-invalid'],
    [
      'the name of another MachineConfig',
      { named: 'rendered-worker-2' },
      'layering.served-config-invalid',
    ],
  ])('refuses a config with %s', (_, more, code) => {
    const text = servedIgnition({ ...release, ...more });
    expect(() => overlayImage(text, image)).toThrow(expect.objectContaining({ code }));
  });
});

const servedText = '{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/etc/ä"}]}}';
const extra = { source: 'https://192.0.2.9/extra.ign' };
const pointer = {
  ignition: {
    version: '3.2.0',
    config: {
      merge: [
        {
          source: 'http://api-int.example:22624/config/worker',
          verification: { hash: 'sha256-1' },
        },
        extra,
      ],
    },
    security: { tls: { certificateAuthorities: [{ source: 'data:,ca' }] } },
  },
  storage: {
    files: [{ path: '/etc/hostname', overwrite: true, mode: 420, contents: { source: 'data:,w' } }],
  },
};

describe('embedServed', () => {
  const text = embedServed(JSON.stringify(pointer), servedText);
  const config = parseValidConfig(text);

  it('embeds the served config in place of the pointer', () => {
    const found = readPointer(config);
    expect(found.kind).toBe('embedded');
    expect(found.kind === 'embedded' && Buffer.from(found.content).toString()).toBe(servedText);
  });

  it('keeps the rest of the pointer and its other configs', () => {
    const {
      ignition: { config: references, ...ignition },
      ...rest
    } = JSON.parse(text) as typeof pointer;
    expect(references.merge.slice(1)).toEqual([extra]);
    expect(Object.keys(references.merge[0] ?? {})).toEqual(['source']);
    expect(ignition).toEqual({ version: '3.2.0', security: pointer.ignition.security });
    expect(rest).toEqual({ storage: pointer.storage });
  });

  it('refuses a config without a pointer', () => {
    expect(() => embedServed('{"ignition":{"version":"3.2.0"}}', servedText)).toThrow(
      expect.objectContaining({ code: 'ignition.pointer-missing' }),
    );
  });
});
