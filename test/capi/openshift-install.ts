// An openshift-install that belongs to no release. It follows the rules of the asset store for
// using or losing manifests (openshift/installer, `pkg/asset/store`), and makes small files.
// GUEST_KUBECONFIG is the kubeconfig that it "makes"; the bootstrap host is the lab's.
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { bootstrapIgnition } from '../../mocks/inventory/ignition-files.ts';
import { clusterSeed } from '../../mocks/inventory/records.ts';
import type { Config } from '../../src/ignition/types.ts';

const [, command = '', flag, folder = ''] = process.argv.slice(2);
if (flag !== '--dir') throw new Error('usage: openshift-install create TARGET --dir FOLDER');
const path = (name: string): string => join(folder, name);
const put = (name: string, content: string): void => {
  mkdirSync(dirname(path(name)), { recursive: true });
  writeFileSync(path(name), content);
};
const print = (level: string, message: string): void => {
  process.stderr.write(`level=${level} msg=${message}\n`);
};
const takeFolder = (name: string): Readonly<Record<string, string>> | undefined => {
  if (!existsSync(path(name))) return undefined;
  const files = readdirSync(path(name)).filter((file) => /\.(ya?ml|json)$/.test(file));
  const found = Object.fromEntries(
    files.map((file) => [file, readFileSync(join(path(name), file), 'utf8')]),
  );
  // The installer consumes the files that it reads.
  rmSync(path(name), { recursive: true });
  return found;
};

const stateFile = '.openshift_install_state.json';
const given = existsSync(path('install-config.yaml'))
  ? readFileSync(path('install-config.yaml'), 'utf8')
  : undefined;
const state = existsSync(path(stateFile))
  ? (JSON.parse(readFileSync(path(stateFile), 'utf8')) as { readonly installConfig: string })
  : undefined;
const installConfig = given ?? state?.installConfig;
if (installConfig === undefined) {
  print('fatal', 'failed to fetch Install Config');
  process.exit(3);
}
if (installConfig.includes('fails: true')) {
  print('error', 'baseDomain: Invalid value');
  process.exit(3);
}
rmSync(path('install-config.yaml'), { force: true });
const isDirty = given !== undefined && state !== undefined && given !== state.installConfig;
put(stateFile, JSON.stringify({ installConfig }));

const manifest = (apiVersion: string, kind: string, content: object): string =>
  `${JSON.stringify({ apiVersion, kind, ...content })}\n`;
const generated = {
  manifests: {
    'cluster-config.yaml': manifest('v1', 'ConfigMap', {
      metadata: { name: 'cluster-config-v1', namespace: 'kube-system' },
      data: { 'install-config': installConfig },
    }),
    'cluster-proxy-01-config.yaml': manifest('config.openshift.io/v1', 'Proxy', {
      metadata: { name: 'cluster' },
      spec: {},
    }),
  },
  openshift: {
    '99_role-master.yaml': manifest('rbac.authorization.k8s.io/v1', 'Role', {
      metadata: { name: 'master', namespace: 'openshift-machine-api' },
      rules: [],
    }),
  },
};
const kubeconfig = readFileSync(process.env['GUEST_KUBECONFIG'] ?? '', 'utf8');
if (command === 'manifests') {
  for (const [name, files] of Object.entries(generated))
    for (const [file, content] of Object.entries(files)) put(`${name}/${file}`, content);
} else {
  let laid = { manifests: takeFolder('manifests'), openshift: takeFolder('openshift') };
  if (isDirty && (laid.manifests ?? laid.openshift) !== undefined) {
    print(
      'warning',
      '"Discarding the Openshift Manifests that was provided in the target directory because its dependencies are dirty and it needs to be regenerated"',
    );
    laid = { manifests: undefined, openshift: undefined };
  }
  // Without this file, the folder manifests counts as absent; one file in the folder openshift
  // replaces all generated ones.
  const manifests =
    laid.manifests?.['cluster-config.yaml'] === undefined ? generated.manifests : laid.manifests;
  const openshift = laid.openshift ?? generated.openshift;
  const files = Object.entries({ ...manifests, ...openshift }).map(([name, content]) => ({
    path: `/opt/openshift/${name in openshift ? 'openshift' : 'manifests'}/${name}`,
    mode: 0o644,
    contents: { source: `data:;base64,${Buffer.from(content).toString('base64')}` },
  }));
  const first =
    command === 'single-node-ignition-config' ? 'bootstrap-in-place-for-live-iso' : 'bootstrap';
  const base = JSON.parse(bootstrapIgnition(clusterSeed(), { kubeconfig })) as Config;
  const others = base.storage?.files?.filter(({ path }) => files.every((one) => one.path !== path));
  put(
    `${first}.ign`,
    JSON.stringify({ ...base, storage: { files: [...(others ?? []), ...files] } }),
  );
  for (const role of ['master', 'worker']) {
    const source = `https://api-int.example:22623/config/${role}`;
    const config = { version: '3.2.0', config: { merge: [{ source }] } };
    put(`${role}.ign`, JSON.stringify({ ignition: config }));
  }
  put('auth/kubeconfig', kubeconfig);
  put('auth/kubeadmin-password', 'AAAAA-BBBBB-CCCCC-DDDDD');
  put('metadata.json', JSON.stringify({ clusterName: 'example', infraID: 'example-x' }));
}
const runs = process.env['INSTALLER_RUNS'];
if (runs !== undefined) appendFileSync(runs, `${command}\n`);
