import { describe, expect, it } from 'vitest';
import { contentTraceArgv, nameTraceArgv, tracesIn } from './traces.ts';

const root = {
  root: '/run/staging',
  deployments: ['abc.0', 'abc.0.origin'],
  address: '[2001:db8::5]:22626',
};
const of = '/run/staging/ostree/deploy/rhcos/deploy';
const places = [
  `${of}/abc.0/etc/containers`,
  `${of}/abc.0/etc/docker`,
  `${of}/abc.0/etc/pki/ca-trust/source/anchors`,
  `${of}/abc.0.origin`,
];

describe('traces of a registry on a written disk', () => {
  it('are looked for in the origin and the settings of each deployment', () => {
    const argv = contentTraceArgv(root);
    expect(argv.slice(argv.indexOf('-e'))).toEqual(['-e', root.address, '--', ...places]);
    expect(nameTraceArgv(root).slice(1, -2)).toEqual(places);
  });

  it('are looked for by name without taking an IPv6 address for a pattern', () => {
    expect(nameTraceArgv(root).slice(-2)).toEqual(['-name', String.raw`*\[2001:db8::5\]:22626*`]);
  });

  it('are counted once', () => {
    expect(tracesIn('/b\n/a', '/a', '')).toEqual(['/a', '/b']);
  });
});
