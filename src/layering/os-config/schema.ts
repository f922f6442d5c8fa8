import type { DefinedKind } from '../schema/check-object.ts';
import {
  conditionList,
  nameReference,
  objectReference,
  pullSpecText,
  pushSpecText,
} from '../schema/parts.ts';
import { isMembers, type Members, type Value } from '../schema/schema.ts';

const poolOf = ({ spec }: Members): Value | undefined => {
  const pool = isMembers(spec) ? spec['machineConfigPool'] : undefined;
  return isMembers(pool) ? pool['name'] : undefined;
};

const nameOf = ({ metadata }: Members): Value | undefined =>
  isMembers(metadata) ? metadata['name'] : undefined;

/** MachineOSConfig, as its CRD defines it (openshift/api, machineconfiguration/v1). */
export const machineOSConfigKind: DefinedKind = {
  kind: 'MachineOSConfig',
  apiVersion: 'machineconfiguration.openshift.io/v1',
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      apiVersion: { type: 'any' },
      kind: { type: 'any' },
      metadata: { type: 'any' },
      spec: {
        type: 'object',
        required: [
          'imageBuilder',
          'machineConfigPool',
          'renderedImagePushSecret',
          'renderedImagePushSpec',
        ],
        properties: {
          baseImagePullSecret: nameReference(),
          containerFile: {
            type: 'array',
            maxItems: 4,
            mapKeys: ['containerfileArch'],
            items: {
              type: 'object',
              required: ['content'],
              properties: {
                containerfileArch: {
                  type: 'string',
                  enum: ['ARM64', 'AMD64', 'PPC64LE', 'S390X', 'NoArch'],
                  default: 'NoArch',
                },
                content: { type: 'string', maxLength: 4096 },
              },
            },
          },
          imageBuilder: {
            type: 'object',
            required: ['imageBuilderType'],
            properties: { imageBuilderType: { type: 'string', enum: ['Job'] } },
          },
          machineConfigPool: nameReference(),
          renderedImagePushSecret: nameReference(),
          renderedImagePushSpec: pushSpecText,
        },
      },
    },
    rules: [
      {
        message:
          'MachineOSConfig name must match the referenced MachineConfigPool name; can only have one MachineOSConfig per MachineConfigPool',
        holds: (object, old) =>
          nameOf(object) === poolOf(object) ||
          (old !== undefined && poolOf(old) !== undefined && poolOf(old) === poolOf(object)),
      },
    ],
  },
  status: {
    type: 'object',
    properties: {
      conditions: conditionList,
      currentImagePullSpec: pullSpecText,
      machineOSBuild: objectReference,
      observedGeneration: {
        type: 'integer',
        minimum: 0,
        rules: [
          {
            message: 'observedGeneration must not move backwards',
            needsOld: true,
            holds: (value, old) => old === undefined || value >= old,
          },
        ],
      },
    },
  },
};
