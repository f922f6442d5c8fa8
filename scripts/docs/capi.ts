import { Document, Scalar, visit } from 'yaml';
import { providerComponents } from '../../src/capi/components.ts';
import { version } from '../../src/model/version.ts';

const folder = 'deploy/capi';

/** The files of a release as clusterctl reads them. */
export function capiFiles(): Readonly<Record<string, string>> {
  return {
    [`${folder}/bootstrap-components.yaml`]: head + documents(providerComponents.bootstrap),
    [`${folder}/control-plane-components.yaml`]: head + documents(providerComponents.controlPlane),
    [`${folder}/metadata.yaml`]: head + yamlOf(metadata()),
  };
}

const head = '# This file is written by `npm run docs`.\n';

const documents = (objects: readonly object[]): string =>
  objects.map((object) => `---\n${yamlOf(object)}`).join('');

/**
 * Read as YAML 1.1 by clusterctl and kubectl, where `on` and `0644` are no strings. What has a variable is quoted: clusterctl replaces it before
 * it reads the file, and an address of IPv6 may end with a colon.
 */
function yamlOf(object: object): string {
  const document = new Document(object, { schema: 'yaml-1.1', aliasDuplicateObjects: false });
  visit(document, {
    Scalar: (_, scalar) => {
      if (String(scalar.value).includes('${')) scalar.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return document.toString({ lineWidth: 0 });
}

/** Which contract a release has (clusterctl, provider contract). */
function metadata(): object {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return {
    apiVersion: 'clusterctl.cluster.x-k8s.io/v1alpha3',
    kind: 'Metadata',
    releaseSeries: [{ major, minor, contract: 'v1beta2' }],
  };
}
