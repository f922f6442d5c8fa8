import { describe, expect, it } from 'vitest';
import { poolText, renderedName, renderedText } from '../../../test/layering/rendered.ts';
import { osImageIn, renderedNameIn } from './rendered.ts';

const path = 'f.yaml';

describe('renderedNameIn', () => {
  it('takes the name that the server goes by', () => {
    expect(renderedNameIn({ path, text: poolText('master') })).toBe(renderedName('master'));
  });

  it.each([
    ['names none', 'kind: MachineConfigPool\nstatus: {}\n', /f\.yaml:2: /],
    ['is empty', '', /f\.yaml: /],
    ['is no object', '- a\n', /f\.yaml:1: /],
  ])('refuses a pool that %s', (...[, text, message]) => {
    expect(() => renderedNameIn({ path, text })).toThrow(
      expect.objectContaining({
        code: 'layering.wrong-object',
        message: expect.stringMatching(message) as string,
      }),
    );
  });
});

describe('osImageIn', () => {
  it('takes the operating system by its digest', () => {
    const text = renderedText('master');
    expect(osImageIn({ path, text })).toBe(`quay.io/release/os@sha256:${'a'.repeat(64)}`);
  });

  it.each([
    ['names it by a tag', /@sha256:a+/, ':latest', /f\.yaml:11: .*digest/],
    ['tells no release', /release-image-version/, 'other', /release-image-version$/],
    ['tells no controller', /generated-by-controller-version/, 'other', /controller-version$/],
    ['is not rendered', /rendered-/, '99-', /is not rendered/],
  ])('refuses a MachineConfig that %s', (...[, from, to, message]) => {
    const text = renderedText('master').replace(from, to);
    expect(() => osImageIn({ path, text })).toThrow(
      expect.objectContaining({
        code: 'layering.machine-config-invalid',
        message: expect.stringMatching(message) as string,
      }),
    );
  });
});
