import { machineConfigPools, machineOSBuilds, machineOSConfigs } from '../../cluster/kinds.ts';
import type { LeftImage } from '../../layering/hand-over/hand-over.ts';
import { jobOf } from '../../layering/hand-over/invariants.ts';
import { readVerbs, type PolicyRule } from './policy-rule.ts';

const operator = [machineOSConfigs.group] as const;
const poolsOf = (images: readonly LeftImage[]): readonly string[] => images.map(({ pool }) => pool);
const buildsOf = (images: readonly LeftImage[]): readonly string[] =>
  images.map(({ machineOSBuild }) => machineOSBuild);

/** What the job may do in the whole cluster to hand images over. */
export function handOverRules(images: readonly LeftImage[]): readonly PolicyRule[] {
  if (images.length === 0) return [];
  const written = [
    { kind: machineOSConfigs, resourceNames: poolsOf(images) },
    { kind: machineOSBuilds, resourceNames: buildsOf(images) },
  ];
  return [
    { apiGroups: operator, resources: [machineConfigPools.plural], verbs: readVerbs },
    ...written.flatMap(({ kind: { plural }, resourceNames }) => [
      { apiGroups: operator, resources: [plural], verbs: [...readVerbs, 'create'] },
      {
        apiGroups: operator,
        resources: [plural, `${plural}/status`],
        resourceNames,
        verbs: ['patch'],
      },
    ]),
    // Who gives an object an owner must be allowed to delete it, and to finalize an owner whose deletion it blocks
    // (Kubernetes, OwnerReferencesPermissionEnforcement).
    {
      apiGroups: operator,
      resources: [machineOSBuilds.plural],
      resourceNames: buildsOf(images),
      verbs: ['delete'],
    },
    {
      apiGroups: operator,
      resources: [`${machineOSConfigs.plural}/finalizers`],
      resourceNames: poolsOf(images),
      verbs: ['update'],
    },
  ];
}

/** What it may do about jobs of the cluster's builder, which starts one by mistake. */
export const buildJobRules = (images: readonly LeftImage[]): readonly PolicyRule[] => [
  { apiGroups: ['batch'], resources: ['jobs'], verbs: readVerbs },
  {
    apiGroups: ['batch'],
    resources: ['jobs'],
    resourceNames: buildsOf(images).map(jobOf),
    verbs: ['delete'],
  },
];
