import { describe, expect, it } from 'vitest';
import { isRendererLog } from './bootstrap-files.ts';
import { layeringSupport } from './release-support.ts';

describe('layeringSupport', () => {
  it.each([
    ['4.4', 'none'],
    ['4.17.30', 'none'],
    ['4.18.0', 'none'],
    ['4.18.20', 'none'],
    ['4.18.21', 'submit'],
    ['4.19.0', 'submit'],
    ['4.20.99', 'submit'],
    ['4.21.0-ec.3', 'build'],
    ['4.21.0', 'build'],
    ['4.22.1', 'build'],
    ['4.23.0-0.nightly-2026-08-20-000000', 'build'],
    ['5.0.0', 'build'],
    ['', 'none'],
    ['latest', 'none'],
  ])('is for release %j: %s', (version, kind) => {
    expect(layeringSupport(version).kind).toBe(kind);
  });
});

describe('isRendererLog', () => {
  it.each([
    [
      'bootstrap-machine-config-operator-m0_openshift-machine-config-operator_machine-config-controller-0abc.log',
      true,
    ],
    ['bootstrap-machine-config-operator-m0_default_machine-config-controller-0abc.log', true],
    ['bootstrap-machine-config-operator-m0_default_machine-config-server-0abc.log', false],
    ['machine-config-controller-77_default_machine-config-controller-0abc.log', false],
  ])('for %s is %s', (name, isOne) => {
    expect(isRendererLog(name)).toBe(isOne);
  });
});
