// A person's actions: an install-config, `capi render`, the infrastructure, `kubectl apply`.
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments, stringify } from 'yaml';
import type { KubeObject } from '../../../src/ports/kube.ts';
import {
  authorities,
  infrastructureObjects,
  infrastructureRef,
  installConfig,
} from '../cluster.ts';

const run = promisify(execFile);

/** Inputs of the cluster and its installation. */
interface Wanted {
  /** Name of the cluster, of its namespace and of its folder. */
  readonly cluster: string;
  /** The port of its API on this machine. */
  readonly port: number;
  /** Applies as `kubectl apply --server-side` does. */
  readonly apply: (manifest: KubeObject) => Promise<unknown>;
  readonly bundle: string;
  /** The parent folder of the cluster's folder. */
  readonly folder: string;
  readonly print: (text: string) => void;
}

const version = '4.20.1';

/**
 * Renders a cluster with the product's own command, prints the command and its output, and applies
 * the result.
 */
export async function applyCluster(wanted: Wanted): Promise<void> {
  const { cluster, bundle, folder, apply, print } = wanted;
  const bootwright = async (words: readonly string[]): Promise<void> => {
    print(`$ bootwright ${words.join(' ')}\n`);
    const { stdout } = await run(process.execPath, [bundle, ...words], { cwd: folder });
    print(stdout);
  };
  const dir = join(folder, cluster);
  await mkdir(dir);
  await writeFile(join(dir, 'install-config.yaml'), installConfig(cluster));
  await bootwright([
    ...['capi', 'render', '--dir', cluster, '--platform', 'external'],
    ...['--release-image', `registry.example.test/release@sha256:${'0'.repeat(64)}`],
    ...['--openshift-version', version, '--agent-image', 'registry.example.test/agent:1'],
    ...['--install-device', '/dev/sda'],
  ]);
  const manifests = join(dir, 'infrastructure-manifests');
  await fillIn(manifests, wanted);
  print(`$ kubectl apply --server-side -f ${cluster}/infrastructure-manifests\n`);
  for (const name of (await readdir(manifests)).toSorted()) {
    const documents = parseAllDocuments(await readFile(join(manifests, name), 'utf8'));
    for (const document of [documents].flat()) {
      const object = document.toJS() as KubeObject | null;
      // Comments after the last object, which kubectl ignores.
      if (object === null) continue;
      await apply(object);
      print(`${object.kind ?? ''} ${object.metadata.name} serverside-applied\n`);
    }
  }
}

/** References of objects to the infrastructure, with their paths. */
const references: Readonly<Record<string, readonly [kind: string, path: readonly string[]]>> = {
  Cluster: ['DevCluster', ['spec']],
  OpenShiftControlPlane: ['DevMachineTemplate', ['spec', 'machineTemplate', 'spec']],
  MachineDeployment: ['DevMachineTemplate', ['spec', 'template', 'spec']],
};

/** Writes the infrastructure with the rendered names, and fills in its kinds. */
async function fillIn(folder: string, { cluster, port }: Wanted): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = join(folder, name);
    const documents = parseAllDocuments(await readFile(file, 'utf8'));
    if (!Array.isArray(documents)) continue;
    for (const document of documents) {
      const ofKind = String(document.get('kind'));
      const [kind, path] = references[ofKind] ?? [];
      if (kind === undefined || path === undefined) continue;
      const { apiGroup } = infrastructureRef(kind, '');
      document.setIn([...path, 'infrastructureRef', 'apiGroup'], apiGroup);
      document.setIn([...path, 'infrastructureRef', 'kind'], kind);
      if (ofKind === 'Cluster')
        document.setIn(['spec', 'controlPlaneEndpoint'], { host: '127.0.0.1', port });
    }
    await writeFile(file, documents.map(String).join('---\n'));
  }
  const pools = ['masters', 'workers'].map((pool) => `${cluster}-${pool}`);
  const objects = [...infrastructureObjects(cluster, pools), ...authorities(cluster)];
  const text = objects.map((object) => stringify(object)).join('---\n');
  await writeFile(join(folder, '10-infrastructure.yaml'), text);
}
