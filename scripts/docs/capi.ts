import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { stringify } from 'yaml';
import { bootstrapCrds, controlPlaneCrd } from '../../src/capi/definitions.ts';
import { version } from '../../src/model/version.ts';

const folder = 'deploy/capi';

/**
 * The files of a release as clusterctl reads them: what each provider runs is written there by
 * hand.
 */
export function capiFiles(): Readonly<Record<string, string>> {
  return {
    ...withDefinitions(`${folder}/bootstrap-components.yaml`, bootstrapCrds),
    ...withDefinitions(`${folder}/control-plane-components.yaml`, [controlPlaneCrd]),
    [`${folder}/metadata.yaml`]: '# This file is written by `npm run docs`.\n' + yamlOf(metadata()),
  };
}

/** A file with its definitions of kinds behind the namespace. */
function withDefinitions(path: string, definitions: readonly object[]): Record<string, string> {
  const text = readFileSync(resolve(import.meta.dirname, '../..', path), 'utf8');
  const [head = '', namespace = '', ...rest] = text
    .split(/^---\n/m)
    .filter((document) => !document.includes('\nkind: CustomResourceDefinition\n'));
  return { [path]: [head, namespace, ...definitions.map(yamlOf), ...rest].join('---\n') };
}

/** Read as YAML 1.1 by clusterctl and kubectl, where `on` and `0644` are no strings. */
const yamlOf = (object: object): string =>
  stringify(object, { schema: 'yaml-1.1', aliasDuplicateObjects: false, lineWidth: 0 });

/** Which contract a release has (clusterctl, provider contract). */
function metadata(): object {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return {
    apiVersion: 'clusterctl.cluster.x-k8s.io/v1alpha3',
    kind: 'Metadata',
    releaseSeries: [{ major, minor, contract: 'v1beta2' }],
  };
}
