import type { KubeObject } from '../../ports/kube.ts';
import { installStateKeys } from '../admission/install-state.ts';
import type { installerFolders } from '../admission/manifests.ts';
import { capiNames, ownNames } from '../api.ts';
import { secretData } from '../objects.ts';
import { installStateName } from './objects.ts';

/** A file of the installer's directory. */
export interface InstallFile {
  readonly name: string;
  readonly content: Uint8Array;
}

/** What the installer has left in its directory. */
export interface InstallFolder {
  readonly manifests: readonly InstallFile[];
  readonly openshift: readonly InstallFile[];
  readonly installConfig?: Uint8Array;
  readonly state?: Uint8Array;
}

interface Owner {
  readonly cluster: string;
  readonly namespace: string;
}

/** Content of one Secret at most, in bytes; the API server takes 1 MiB with all else (core/v1, `MaxSecretSize`). */
const mostBytes = 700 * 1024;

/** The Secrets that the files of a directory become (R14, R15, R17), in the order of the files. */
export function wrappedSecrets(folder: InstallFolder, owner: Owner): readonly KubeObject[] {
  const { cluster, namespace } = owner;
  const secret = (name: string, metadata: object, files: readonly InstallFile[]): KubeObject => ({
    ...{ apiVersion: 'v1', kind: 'Secret', type: 'Opaque' },
    metadata: { name, namespace, ...metadata },
    data: secretData(Object.fromEntries(files.map((one) => [one.name, one.content]))),
  });
  const labelled = (label: string) => ({
    labels: { [capiNames.clusterName]: cluster, [capiNames.move]: '', [label]: cluster },
  });
  const { installConfig, state } = folder;
  const stateFiles = [
    ...(installConfig === undefined
      ? []
      : [{ name: installStateKeys.config, content: installConfig }]),
    ...(state === undefined ? [] : [{ name: installStateKeys.state, content: state }]),
  ];
  const manifests = (name: (typeof installerFolders)[number]): readonly KubeObject[] =>
    parts(folder[name]).map((files, at) =>
      secret(
        `${cluster}-${name}-${at}`,
        {
          ...labelled(ownNames.installManifests),
          annotations: { [ownNames.manifestFolder]: name },
        },
        files,
      ),
    );
  return [
    secret(installStateName(cluster), labelled(ownNames.installState), stateFiles),
    ...manifests('manifests'),
    ...manifests('openshift'),
  ];
}

/** Files in the order of their names, as many as fit into a Secret. One that is larger is alone: the API server has the last word. */
function parts(files: readonly InstallFile[]): readonly (readonly InstallFile[])[] {
  const all: InstallFile[][] = [];
  let bytes = 0;
  for (const file of files.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    const last = all.at(-1);
    if (last === undefined || bytes + file.content.length > mostBytes) {
      all.push([file]);
      bytes = file.content.length;
    } else {
      last.push(file);
      bytes += file.content.length;
    }
  }
  return all;
}
