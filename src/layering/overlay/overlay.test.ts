import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { servedIgnition } from '../../../test/layering/served.ts';
import { decodeDataUrl } from '../../ignition/resource.ts';
import { readServedConfig, servedFault } from '../served-config.ts';
import { overlayImage } from './overlay.ts';

const image = `registry.example.com/ocl/worker@sha256:${'b'.repeat(64)}`;
const rendered = `rendered-worker-${'1'.repeat(32)}`;
const stock = { rendered, osImage: 'quay.example/rhcos@sha256:9' };

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

/** The served text with the content of both files in another form. */
function served(reform: (source: string) => object): string {
  const config = JSON.parse(servedIgnition(stock)) as Read;
  for (const file of config.storage.files) {
    Object.assign(file, { contents: reform(file.contents.source) });
  }
  return JSON.stringify(config);
}

describe('overlayImage', () => {
  it('names the image wherever a machine looks for one', () => {
    const overlaid = readServedConfig(overlayImage(servedIgnition(stock), image));
    expect(servedFault(overlaid, image)).toBeUndefined();
    expect(overlaid.rendered).toBe(rendered);
  });

  it('gives what a server gives whose pool runs the image', () => {
    const other = servedIgnition({ rendered, osImage: image, image });
    expect(JSON.parse(overlayImage(servedIgnition(stock), image))).toEqual(JSON.parse(other));
  });

  it('changes nothing the second time, nor what is served with the image', () => {
    const once = overlayImage(servedIgnition(stock), image);
    expect(overlayImage(once, image)).toBe(once);
    const layered = servedIgnition({ rendered, osImage: image, image });
    expect(JSON.parse(overlayImage(layered, image))).toEqual(JSON.parse(layered));
  });

  it('changes nothing but these', () => {
    const config = JSON.parse(servedIgnition(stock)) as Read;
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

  it('writes the annotations as the server does: compact, sorted', () => {
    const text = contentIn(overlayImage(servedIgnition(stock), image), 'node-annotations.json');
    const keys = Object.keys(JSON.parse(text) as object);
    expect(keys).toEqual([...keys].sort());
    expect(text).not.toMatch(/\s/);
  });

  it.each<[string, (source: string) => object, RegExp]>([
    ['percent-encoded', (source) => ({ source }), /^data:,%7B/],
    [
      'base64 with a media type',
      (source) => ({
        source: `data:text/plain;charset=utf-8;base64,${Buffer.from(decodeDataUrl(source)).toString('base64')}`,
      }),
      /^data:text\/plain;charset=utf-8;base64,/,
    ],
  ])('keeps the form of content that is %s', (_, reform, form) => {
    const text = overlayImage(served(reform), image);
    expect(fileIn(text, 'node-annotations.json').contents.source).toMatch(form);
    expect(servedFault(readServedConfig(text), image)).toBeUndefined();
  });

  it('keeps content compressed, and lets go of the hash of what was there', () => {
    const text = served((source) => ({
      source: `data:;base64,${gzipSync(decodeDataUrl(source)).toString('base64')}`,
      compression: 'gzip',
    }));
    const overlaid = overlayImage(text, image);
    const { contents } = fileIn(overlaid, 'encapsulated.json');
    expect(contents.compression).toBe('gzip');
    expect(gunzipSync(decodeDataUrl(contents.source)).toString()).toContain(image);
    expect(overlayImage(overlaid, image)).toBe(overlaid);
  });

  it.each([
    ['no annotations', { annotations: undefined }, 'ignition.file-missing'],
    ['annotations that are broken', { annotations: '{' }, 'layering.served-config-invalid'],
    ['another MachineConfig', { named: 'rendered-worker-2' }, 'layering.served-config-invalid'],
  ])('refuses a config with %s', (_, more, code) => {
    const text = servedIgnition({ ...stock, ...more });
    expect(() => overlayImage(text, image)).toThrow(expect.objectContaining({ code }));
  });
});
