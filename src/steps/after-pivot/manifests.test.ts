import { describe, expect, it } from 'vitest';
import { leftImage } from '../../../test/layering/left-images.ts';
import type { LeftImage } from '../../layering/hand-over/hand-over.ts';
import {
  clusterRoleManifest,
  clusterRoleRef,
  jobManifest,
  namespaceManifest,
  ownedManifests,
} from './manifests.ts';
import { clusterRules, namespacedRules } from './permissions.ts';
import type { PivotRecord } from './record.ts';

const record: PivotRecord = {
  node: 'm0',
  addresses: ['192.0.2.7', '2001:db8::7'],
  role: 'master',
  isEtcdOverridden: true,
  images: [],
};
const owned = ownedManifests({ record, ownerUid: 'uid-1' });
const job = jobManifest({ image: 'quay.io/b:v1', openshiftVersion: '4.18.3' });
const all = [namespaceManifest, clusterRoleManifest([]), ...owned, job];

describe('what is left in the cluster', () => {
  it.each(all.map((manifest) => [manifest.object.kind, manifest] as const))(
    'a %s stands where its reference says',
    (kind, { ref, object }) => {
      const { group, version, plural } = ref.kind;
      expect(object.apiVersion).toBe(group === '' ? version : `${group}/${version}`);
      expect(`${String(kind).toLowerCase()}s`).toBe(plural);
      expect(object.metadata).toMatchObject({ name: ref.name });
      expect(object.metadata.namespace).toBe(ref.namespace);
    },
  );

  it('belongs to the role in the cluster, but for the job that deletes it', () => {
    for (const { object } of owned) {
      expect(object.metadata).toMatchObject({
        ownerReferences: [{ kind: 'ClusterRole', name: clusterRoleRef.name, uid: 'uid-1' }],
      });
    }
    expect(job.object.metadata).not.toHaveProperty('ownerReferences');
  });

  it('holds the record as text', () => {
    expect(owned.find(({ object }) => object.kind === 'ConfigMap')?.object['data']).toEqual({
      format: '1',
      node: 'm0',
      addresses: '192.0.2.7,2001:db8::7',
      role: 'master',
      etcdOverridden: 'true',
    });
  });
});

describe.each<[string, readonly LeftImage[], readonly (readonly string[])[]]>([
  ['without images', [], []],
  ['with an image to hand over', [leftImage], [['machineosconfigs'], ['machineosbuilds']]],
])('what a job may do %s', (_, images, further) => {
  const rules = [clusterRules(images), ...Object.values(namespacedRules(images))].flat();

  it('is named verb by verb and kind by kind', () => {
    for (const { apiGroups, resources, verbs } of rules) {
      expect([...apiGroups, ...resources, ...verbs]).not.toContain('*');
    }
  });

  it('changes only objects that are named, or that it makes', () => {
    const changing = ['create', 'update', 'patch', 'delete', 'approve', 'use'];
    const unnamed = rules.filter(
      ({ verbs, resourceNames }) =>
        resourceNames === undefined && verbs.some((verb) => changing.includes(verb)),
    );
    // Which requests it approves is limited by the signers.
    expect(unnamed.map(({ resources }) => resources)).toEqual([
      ['certificatesigningrequests/approval'],
      ...further,
    ]);
  });

  it('reads no secrets', () => {
    expect(rules.flatMap(({ resources }) => resources)).not.toContain('secrets');
  });
});

describe('the job', () => {
  it('runs this command from our own image', () => {
    expect(job.object).toMatchObject({
      spec: {
        template: {
          spec: { containers: [{ image: 'quay.io/b:v1', args: ['after-pivot'] }] },
        },
      },
    });
  });

  it('asks for resources and is limited by none', () => {
    const text = JSON.stringify(job.object);
    expect(text).toContain('requests');
    expect(text).not.toContain('limits');
  });

  it.each([
    ['4.18.3', true],
    ['4.11.0', true],
    ['4.10.9', false],
    ['4.6', false],
    ['unknown', false],
  ])('of OpenShift %s names a seccomp profile: %s', (openshiftVersion, isNamed) => {
    const { object } = jobManifest({ image: 'i', openshiftVersion });
    expect(JSON.stringify(object).includes('seccompProfile')).toBe(isNamed);
  });

  it.each([
    ['4.18.3', true],
    ['4.8.0', true],
    ['4.7.60', false],
    ['4.6', false],
    ['unknown', false],
  ])('of OpenShift %s asks to be removed by the cluster: %s', (openshiftVersion, isAsked) => {
    const { object } = jobManifest({ image: 'i', openshiftVersion });
    expect(JSON.stringify(object).includes('ttlSecondsAfterFinished')).toBe(isAsked);
  });
});
