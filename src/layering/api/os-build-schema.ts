import { isDeepStrictEqual } from 'node:util';
import type { DefinedKind } from './check-object.ts';
import {
  conditionList,
  isFields,
  type Fields,
  nameReference,
  nameText,
  objectReference,
  pullSpecText,
  pushSpecText,
  type Rule,
  type TextSchema,
  type Value,
} from './schema.ts';

const immutableTime = (name: string): TextSchema => ({
  type: 'string',
  isDateTime: true,
  rules: [
    {
      message: `${name} is immutable once set`,
      needsOld: true,
      holds: (value, old) => value === old,
    },
  ],
});

/** Conditions after which a build takes no others. */
const frozenBy = (type: string, article: string): Rule<readonly Value[]> => ({
  message: `once ${article} ${type} condition is set, conditions are immutable`,
  needsOld: true,
  holds: (value, old) => {
    const isSet = old?.some(
      (item) => isFields(item) && item['type'] === type && item['status'] === 'True',
    );
    return isSet !== true || isDeepStrictEqual(value, old);
  },
});

const endsLater = ({ buildStart, buildEnd }: Fields): boolean =>
  buildEnd === undefined || (buildStart !== undefined && timeOf(buildStart) < timeOf(buildEnd));

const timeOf = (value: Value): number => Date.parse(typeof value === 'string' ? value : '');

/** MachineOSBuild, as its CRD defines it (openshift/api, machineconfiguration/v1). */
export const machineOSBuildKind: DefinedKind = {
  kind: 'MachineOSBuild',
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
        required: ['machineConfig', 'machineOSConfig', 'renderedImagePushSpec'],
        properties: {
          machineConfig: {
            type: 'object',
            required: ['name'],
            properties: { name: nameText(10) },
          },
          machineOSConfig: nameReference(1),
          renderedImagePushSpec: pushSpecText,
        },
        rules: [
          {
            message: 'machineOSBuildSpec is immutable once set',
            needsOld: true,
            holds: (value, old) => isDeepStrictEqual(value, old),
          },
        ],
      },
    },
  },
  status: {
    type: 'object',
    properties: {
      buildEnd: immutableTime('buildEnd'),
      buildStart: immutableTime('buildStart'),
      builder: {
        type: 'object',
        required: ['imageBuilderType'],
        properties: { imageBuilderType: { type: 'string' }, job: objectReference },
        rules: [
          {
            message: 'job is required when imageBuilderType is Job, and forbidden otherwise',
            holds: ({ imageBuilderType, job }) =>
              (imageBuilderType === 'Job') === (job !== undefined),
          },
        ],
      },
      conditions: {
        ...conditionList,
        maxItems: 8,
        rules: [
          frozenBy('Failed', 'a'),
          frozenBy('Interrupted', 'an'),
          frozenBy('Succeeded', 'an'),
        ],
      },
      digestedImagePushSpec: pullSpecText,
      relatedObjects: {
        type: 'array',
        maxItems: 10,
        mapKeys: ['name', 'resource'],
        items: objectReference,
      },
    },
    rules: [{ message: 'buildEnd must be after buildStart', holds: endsLater }],
  },
};
