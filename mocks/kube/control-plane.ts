import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type KubeClient, openClient } from './client.ts';
import { controlProgram, freePort, type ServerControl } from './program.ts';
import {
  administrators,
  createPki,
  type KubeUser,
  type PemPair,
  type Pki,
  renderKubeconfig,
} from './pki.ts';
import { KubeRefusal } from './transport.ts';
import { apiServerFlags, controllerManagerFlags, etcdFlags } from './server-flags.ts';

/** An API server, and a client with all rights that reaches it without the forwarder. */
export interface ApiServer extends ServerControl {
  readonly name: string;
  readonly port: number;
  readonly url: string;
  readonly client: KubeClient;
}

/** The controllers that tests depend on; all others are off. */
const neededControllers: readonly string[] = [
  'certificatesigningrequest-signing-controller',
  'garbage-collector-controller',
  'namespace-controller',
  'serviceaccount-controller',
];

/** A running etcd, and functions to add servers to it. */
export type ControlPlane = Awaited<ReturnType<typeof startControlPlane>>;

const PROBE_LIMIT_MILLIS = 20_000;
const TRUST_POLL_MILLIS = 100;
const UNAUTHORIZED = 401;
const administrator: KubeUser = { name: 'lab-admin', groups: [administrators] };

/** Starts etcd with the data in `FOLDER/etcd`, or empty, and with its own authority. */
export async function startControlPlane(
  binaries: string,
  folder: string,
  options: { readonly isAudited?: boolean } = {},
) {
  const pki = await createPki();
  const keys = await writeKeyFiles(join(folder, 'pki'), pki);
  const admin = await pki.issueFor(administrator);
  const etcd = await createEtcd(binaries, folder);
  const ends: (() => Promise<void>)[] = [];
  const audit = options.isAudited === true ? await writeAuditPolicy(folder) : undefined;
  const ours: Ours = { binaries, folder, pki, keys, admin, etcd, ends, audit };
  await etcd.start();
  return {
    etcd,
    /** A client of a user, default an administrator, at an address that may change. */
    clientFor: async (url: () => string, user?: KubeUser): Promise<KubeClient> =>
      openAs(ours, url, user && (await pki.issueFor(user))),
    /**
     * Starts an API server on this etcd; its log is `FOLDER/NAME.log`. With a prefix it belongs to
     * another cluster.
     */
    addServer: (name: string, etcdPrefix?: string): Promise<ApiServer> =>
      addServer(ours, name, etcdPrefix),
    /**
     * Starts a controller manager with these controllers; its log is
     * `FOLDER/controller-manager-SERVER.log`.
     */
    addControllerManager: (server: ApiServer, controllers = neededControllers) =>
      addControllerManager(ours, server, controllers),
    /**
     * The text of a kubeconfig for a user, a service account with its token, or by default an
     * administrator, at any address.
     */
    kubeconfigFor: async (
      server: string,
      user?: KubeUser | { readonly token: string },
    ): Promise<string> => {
      const ca = pki.ca.certificate;
      if (user === undefined)
        return renderKubeconfig({ server, ca, user: await pki.issueForAdmin(administrator) });
      const credentials = 'token' in user ? user : await pki.issueFor(user);
      return renderKubeconfig({ server, ca, user: credentials });
    },
    /**
     * Makes servers trust the administrators' authority or not; waits until the server at the
     * address does so.
     */
    trustAdmins: async (isTrusted: boolean, server: string): Promise<void> => {
      await writeFile(keys.clientCas, clientCas(pki, isTrusted));
      const client = openAs(ours, () => server, await pki.issueForAdmin(administrator));
      while ((await isKnown(client)) !== isTrusted) await pause(TRUST_POLL_MILLIS);
    },
    /** Ends everything at once, etcd last. */
    close: async (): Promise<void> => {
      await Promise.all(ends.splice(0).map((end) => end()));
      await etcd.kill();
    },
  };
}

interface Ours {
  readonly binaries: string;
  readonly folder: string;
  readonly pki: Pki;
  readonly keys: Awaited<ReturnType<typeof writeKeyFiles>>;
  readonly admin: PemPair;
  readonly etcd: Etcd;
  readonly ends: (() => Promise<void>)[];
  readonly audit: AuditFiles | undefined;
}

interface AuditFiles {
  readonly policy: string;
  readonly log: string;
}

async function writeAuditPolicy(folder: string): Promise<AuditFiles> {
  const policy = join(folder, 'audit-policy.json');
  const rules = [{ level: 'Metadata', omitStages: ['RequestReceived'] }];
  await writeFile(policy, JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules }));
  return { policy, log: join(folder, 'audit.log') };
}

async function isKnown(client: KubeClient): Promise<boolean> {
  try {
    return (await client.read('/readyz', limit())) !== '';
  } catch (error) {
    if (error instanceof KubeRefusal && error.status === UNAUTHORIZED) return false;
    throw error;
  }
}

const clientCas = ({ ca, adminCa }: Pki, areAdminsTrusted: boolean): string =>
  `${ca.certificate}\n${areAdminsTrusted ? `${adminCa.certificate}\n` : ''}`;

/** A client of a user, or of the first administrator. */
function openAs({ pki, ends, admin }: Ours, url: () => string, user = admin): KubeClient {
  const client = openClient({ url, ca: pki.ca.certificate, user });
  ends.push(client.close);
  return client;
}

const usualPrefix = '/registry';

async function addServer(ours: Ours, name: string, etcdPrefix = usualPrefix): Promise<ApiServer> {
  const { binaries, folder, keys, etcd, ends, audit } = ours;
  const port = await freePort();
  const url = `https://127.0.0.1:${port}`;
  const client = openAs(ours, () => url);
  const control = controlProgram({
    name,
    program: join(binaries, 'kube-apiserver'),
    args: [
      ...apiServerFlags({ ...keys, etcdPort: etcd.port, port, etcdPrefix }),
      ...(audit === undefined || etcdPrefix !== usualPrefix
        ? []
        : [`--audit-policy-file=${audit.policy}`, `--audit-log-path=${audit.log}`]),
    ],
    logFile: join(folder, `${name}.log`),
    isReady: async () => (await client.read('/readyz', limit())) === 'ok',
  });
  ends.push(control.kill);
  await control.start();
  return { ...control, name, port, url, client };
}

async function addControllerManager(
  ours: Ours,
  server: ApiServer,
  controllers: readonly string[],
): Promise<ServerControl> {
  const { binaries, folder, pki, keys, ends } = ours;
  const port = await freePort();
  const name = `controller-manager-${server.name}`;
  const kubeconfig = join(folder, `${name}.kubeconfig`);
  // As `system:kube-controller-manager` alone, it may not write the certificates that it signs.
  const user = await pki.issueFor({
    name: 'system:kube-controller-manager',
    groups: [administrators],
  });
  const content = renderKubeconfig({ server: server.url, ca: pki.ca.certificate, user });
  await writeFile(kubeconfig, content, { mode: 0o600 });
  const probe = openAs(ours, () => `https://127.0.0.1:${port}`);
  const control = controlProgram({
    name,
    program: join(binaries, 'kube-controller-manager'),
    args: controllerManagerFlags({ ...keys, kubeconfig, port, controllers: controllers.join(',') }),
    logFile: join(folder, `${name}.log`),
    isReady: async () => (await probe.read('/healthz', limit())) === 'ok',
  });
  ends.push(control.kill);
  await control.start();
  return control;
}

const limit = (): AbortSignal => AbortSignal.timeout(PROBE_LIMIT_MILLIS);

/** Writes the keys; a server reads `clientCas` again when it changes. */
async function writeKeyFiles(folder: string, pki: Pki) {
  await mkdir(folder, { mode: 0o700, recursive: true });
  const write = async (name: string, content: string): Promise<string> => {
    await writeFile(join(folder, name), content, { mode: 0o600 });
    return join(folder, name);
  };
  return {
    ca: await write('ca.crt', pki.ca.certificate),
    caKey: await write('ca.key', pki.ca.key),
    clientCas: await write('client-ca-bundle.crt', clientCas(pki, true)),
    serving: await write('serving.crt', pki.serving.certificate),
    servingKey: await write('serving.key', pki.serving.key),
    tokenKey: await write('tokens.key', pki.tokens.privateKey),
    tokenPublicKey: await write('tokens.pub', pki.tokens.publicKey),
  };
}

/** The store of the API servers. */
export interface Etcd extends ServerControl {
  readonly port: number;
  /**
   * Deletes all history but the last state, and waits until it is gone from the disk too. A running
   * API server still has it in memory: only a restarted one answers an old watch with 410.
   */
  readonly compact: () => Promise<void>;
}

/** An etcd with the data in `FOLDER/etcd`; not started yet. */
async function createEtcd(binaries: string, folder: string): Promise<Etcd> {
  const [port, peerPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const control = controlProgram({
    name: 'etcd',
    program: join(binaries, 'etcd'),
    args: etcdFlags({ data: join(folder, 'etcd'), port, peerPort }),
    logFile: join(folder, 'etcd.log'),
    isReady: async () => (await fetch(`${url}/health`)).ok,
  });
  return { ...control, port, compact: () => compact(url) };
}

/** @see https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway/ */
async function compact(url: string): Promise<void> {
  const { header } = (await post(`${url}/v3/maintenance/status`, {})) as {
    readonly header: { readonly revision: string };
  };
  await post(`${url}/v3/kv/compaction`, { revision: header.revision, physical: true });
}

async function post(url: string, body: object): Promise<unknown> {
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return response.json();
}
