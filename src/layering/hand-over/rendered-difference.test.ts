import { describe, expect, it } from 'vitest';
import type { Members } from '../schema/schema.ts';
import { renderedDifference } from './rendered-difference.ts';

const osImage = 'quay.io/os@sha256:0';
const file = (path: string, source = 'data:,x'): Members => ({ path, contents: { source } });
const config = (spec: Members, files: readonly Members[] = [], units: readonly Members[] = []) => ({
  spec: {
    osImageURL: osImage,
    ...spec,
    config: { ignition: { version: '3.5.0' }, storage: { files }, systemd: { units } },
  },
});
const difference = (bootstrap: Members, cluster: Members) =>
  renderedDifference({ bootstrap, cluster, osImage });

describe('renderedDifference', () => {
  it('names files and units that are missing, more, or others', () => {
    const bootstrap = config({}, [file('/a'), file('/b')], [{ name: 'u.service' }]);
    const cluster = config({}, [file('/b', 'data:,y'), file('/c')]);
    expect(difference(bootstrap, cluster)).toBe(
      "file /a is not in the cluster's, file /b differs, file /c is only in the cluster's, unit u.service is not in the cluster's",
    );
  });

  it('names members of the spec', () => {
    expect(
      difference(config({ fips: true }), config({ fips: false, kernelType: 'realtime' })),
    ).toBe('spec.fips differs, spec.kernelType differs');
  });

  it('does not mind the image that masters are served, nor how nothing is written', () => {
    const bootstrap = config({ osImageURL: 'built', extensions: [], kernelType: '' });
    expect(difference(bootstrap, config({ kernelArguments: null }))).toBe(
      'their specs say the same in what can be told apart',
    );
  });

  it('sees another system of the release', () => {
    expect(difference(config({}), config({ osImageURL: 'other' }))).toBe('spec.osImageURL differs');
  });

  it('tells five and how many more', () => {
    const many = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => file(`/${name}`));
    expect(difference(config({}, many), { spec: { osImageURL: osImage } })).toMatch(
      /\/e .* and 2 more$/,
    );
  });
});
