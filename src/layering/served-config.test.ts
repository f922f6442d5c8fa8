import { describe, expect, it } from 'vitest';
import { servedIgnition } from '../../test/layering/served.ts';
import { readServedConfig, servedFault } from './served-config.ts';

const final = `registry.example.com/ocl/master@sha256:${'a'.repeat(64)}`;
const rendered = `rendered-master-${'0'.repeat(32)}`;

describe('readServedConfig', () => {
  it('reads what a layered pool is served', () => {
    const text = servedIgnition({ rendered, osImage: final, image: final });
    expect(readServedConfig(text)).toEqual({
      rendered,
      osImage: final,
      currentImage: final,
      desiredImage: final,
    });
    expect(readServedConfig(Buffer.from(text))).toEqual(readServedConfig(text));
  });

  it('knows no image where the pool is not layered', () => {
    const text = servedIgnition({ rendered, osImage: 'stock' });
    expect(readServedConfig(text)).toEqual({ rendered, osImage: 'stock' });
  });

  it.each([
    ['two MachineConfigs', { named: 'rendered-master-1' }, 'layering.served-config-invalid'],
    ['a MachineConfig without a name', { named: '' }, 'layering.served-config-invalid'],
    ['no annotations', { annotations: undefined }, 'ignition.file-missing'],
    ['annotations that are a list', { annotations: '[]' }, 'layering.served-config-invalid'],
    ['annotations that are broken', { annotations: '{' }, 'layering.served-config-invalid'],
  ])('refuses %s', (_, more, code) => {
    const text = servedIgnition({ rendered, osImage: 'stock', ...more });
    expect(() => readServedConfig(text)).toThrow(expect.objectContaining({ code }));
  });

  it('refuses a config of spec 2, which a server gives when it is not asked for another', () => {
    const text = servedIgnition({ rendered, osImage: 'stock', version: '2.2.0' });
    expect(() => readServedConfig(text)).toThrow(
      expect.objectContaining({ code: 'ignition.spec-2' }),
    );
  });
});

describe('servedFault', () => {
  const whole = { rendered, osImage: final, currentImage: final, desiredImage: final };

  it('finds nothing when all three places name the image', () => {
    expect(servedFault(whole, final)).toBeUndefined();
  });

  it.each([
    [{ ...whole, osImage: 'stock' }, 'osImageURL is stock instead of'],
    [{ ...whole, currentImage: 'other' }, 'currentImage is other instead of'],
    [{ rendered, osImage: final }, 'currentImage is not set, desiredImage is not set instead of'],
  ])('names the place that differs', (served, words) => {
    expect(servedFault(served, final)).toContain(words);
  });
});
