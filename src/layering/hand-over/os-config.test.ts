import { describe, expect, it } from 'vitest';
import { httpd, osConfigObject } from '../../../test/layering/samples.ts';
import type { Members } from '../schema/schema.ts';
import { annotationPatch, asksTheSame, osConfigRequest } from './os-config.ts';

const prefix = 'machineconfiguration.openshift.io';
const current = `${prefix}/current-machine-os-build`;
const seeding = `${prefix}/pre-built-image`;
const rebuild = `${prefix}/rebuild`;

describe('osConfigRequest', () => {
  const source: Members = {
    ...osConfigObject(),
    metadata: {
      name: 'master',
      namespace: 'ignored',
      resourceVersion: '7',
      labels: { mine: 'yes' },
      annotations: { mine: 'yes', [seeding]: 'image', [rebuild]: '', [current]: 'old' },
    },
    status: { conditions: [{ type: 'Seeded', status: 'True' }] },
  };

  it('is the spec of the user, with the build and nothing that stirs', () => {
    expect(osConfigRequest(source, 'master-0')).toEqual({
      apiVersion: `${prefix}/v1`,
      kind: 'MachineOSConfig',
      metadata: {
        name: 'master',
        labels: { mine: 'yes' },
        annotations: { mine: 'yes', [current]: 'master-0' },
      },
      spec: source['spec'],
    });
  });

  it('names no build where the cluster is to build', () => {
    expect(osConfigRequest(source).metadata.annotations).toEqual({ mine: 'yes' });
  });
});

describe('asksTheSame', () => {
  const found = (spec = {}) => osConfigObject(spec) as never;

  it('does not mind defaults', () => {
    const source = osConfigObject({ containerFile: [{ content: httpd }] });
    expect(asksTheSame(source, found())).toBe(true);
  });

  it('sees another text', () => {
    expect(asksTheSame(osConfigObject(), found({ containerFile: [] }))).toBe(false);
  });
});

describe('annotationPatch', () => {
  const found = (annotations: Record<string, string>) => ({
    metadata: { name: 'master', annotations },
  });

  it.each([
    [{ [current]: 'b' }, undefined],
    [{}, { [current]: 'b' }],
    [{ [current]: 'a' }, { [current]: 'b' }],
    [
      { [current]: 'b', [seeding]: 'i' },
      { [current]: 'b', [seeding]: null },
    ],
    [{ [rebuild]: 'x' }, { [current]: 'b', [rebuild]: null }],
  ])('of %j is %j', (annotations, patch) => {
    const expected = patch === undefined ? undefined : { metadata: { annotations: patch } };
    expect(annotationPatch(found(annotations), 'b')).toEqual(expected);
  });
});
