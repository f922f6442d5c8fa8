import { describe, expect, it } from 'vitest';
import { chooseCrds, type CrdManifest } from './kube-crds.ts';

interface Sample {
  readonly path: string;
  readonly name?: string;
  readonly selfManaged?: boolean;
  readonly featureSet?: string;
}

function manifest({ path, name, selfManaged, featureSet }: Sample): CrdManifest {
  const annotations = [
    ...(selfManaged === false
      ? ['include.release.openshift.io/ibm-cloud-managed: "true"']
      : ['include.release.openshift.io/self-managed-high-availability: "true"']),
    ...(featureSet === undefined ? [] : [`release.openshift.io/feature-set: ${featureSet}`]),
  ];
  const lines = ['apiVersion: apiextensions.k8s.io/v1', 'metadata:', '  annotations:'];
  lines.push(...annotations.map((line) => `    ${line}`));
  lines.push(`  name: ${name ?? 'things.example.com'}`, 'spec:', `  from: ${path}`, '');
  return { path, yaml: lines.join('\n') };
}

const chosenFrom = (samples: readonly Sample[]) =>
  [...chooseCrds(samples.map(manifest)).values()].map((yaml) => /from: (.*)/.exec(yaml)?.[1]);

const inSets = (featureSet: string | undefined): Sample => ({
  path: 'a/v1/x',
  ...(featureSet === undefined ? {} : { featureSet }),
});

describe('the definitions of the feature set Default', () => {
  it.each([
    ['in every set without a word of sets', undefined],
    ['in a set that is named', 'Default'],
    ['in a set of a list', 'CustomNoUpgrade,Default'],
  ] as const)('are %s', (_, named) => {
    expect(chosenFrom([inSets(named)])).toHaveLength(1);
  });

  it.each([
    ['that is not named', 'TechPreviewNoUpgrade'],
    ['whose name is part of another', 'DefaultToo'],
  ])('are not in a set %s', (_, named) => {
    expect(chosenFrom([inSets(named)])).toEqual([]);
  });

  it('leaves out what self-managed clusters do not get', () => {
    expect(chosenFrom([{ path: 'a/v1/x', selfManaged: false }])).toEqual([]);
  });

  it('takes the file of v1 where there is one of v1alpha1 too', () => {
    const samples = [{ path: 'a/v1/x' }, { path: 'a/v1alpha1/x' }];
    expect(chosenFrom(samples)).toEqual(['a/v1/x']);
    expect(chosenFrom(samples.toReversed())).toEqual(['a/v1/x']);
  });

  it('takes the file of v1alpha1 where that alone is in the set', () => {
    const samples = [{ path: 'a/v1/x', featureSet: 'OKD' }, { path: 'a/v1alpha1/x' }];
    expect(chosenFrom(samples)).toEqual(['a/v1alpha1/x']);
  });

  it('refuses a file without a name', () => {
    const broken = { path: 'a/v1/x', yaml: 'metadata: {}\nspec: {}\n' };
    expect(() => chooseCrds([broken])).toThrow('a/v1/x: there is no metadata.name');
  });
});
