// @peculiar/x509 requires this import before all others of it.
import 'reflect-metadata';
import { randomUUID, webcrypto } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:https';
import { type AddressInfo, isIP, isIPv6 } from 'node:net';
import { Pkcs10CertificateRequestGenerator, SubjectAlternativeNameExtension } from '@peculiar/x509';
import type { KubeObject } from '../../src/ports/kube.ts';
import { createPki, type KubeUser } from '../kube/pki.ts';
import type { Purpose } from './cluster-state.ts';

/** Answers the API server for every kubelet of a cluster. */
export interface Kubelet extends AsyncDisposable {
  readonly port: number;
}

/** Serves container logs on loopback; `logOf` returns the text of one container. */
export async function startKubelet(
  logOf: (pod: string, container: string) => string,
): Promise<Kubelet> {
  const { serving } = await createPki();
  const server = createServer(
    { cert: serving.certificate, key: serving.key },
    ({ url = '' }, answer) => {
      const [, pod, container = ''] = /^\/containerLogs\/[^/]+\/([^/]+)\/([^/?]+)/.exec(url) ?? [];
      answer.statusCode = pod === undefined ? 404 : 200;
      answer.end(pod === undefined ? '' : logOf(pod, container));
    },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Requester and purpose of a certificate. */
interface KubeletRequest {
  readonly node: string;
  readonly addresses: readonly string[];
  readonly purpose: Purpose;
}

const BOOTSTRAPPER = 'openshift-machine-config-operator';

/**
 * The user of a kubelet's request: a service account for the client certificate, then the node
 * itself.
 */
export const askerOf = ({ node, purpose }: KubeletRequest): KubeUser =>
  purpose === 'client'
    ? {
        name: `system:serviceaccount:${BOOTSTRAPPER}:node-bootstrapper`,
        groups: ['system:serviceaccounts', `system:serviceaccounts:${BOOTSTRAPPER}`],
      }
    : { name: `system:node:${node}`, groups: ['system:nodes'] };

/** Name of the request in the cluster. */
const requestName = ({ node, purpose }: Pick<KubeletRequest, 'node' | 'purpose'>): string =>
  `csr-${purpose}-${node}`;

const signers = {
  client: 'kubernetes.io/kube-apiserver-client-kubelet',
  serving: 'kubernetes.io/kubelet-serving',
};

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** A request as a kubelet creates it (Kubernetes 1.34). */
export async function requestObject(request: KubeletRequest): Promise<KubeObject> {
  const { node, addresses, purpose } = request;
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const pkcs10 = await Pkcs10CertificateRequestGenerator.create({
    name: [{ O: ['system:nodes'] }, { CN: [`system:node:${node}`] }],
    keys,
    signingAlgorithm: algorithm,
    extensions:
      purpose === 'client'
        ? []
        : [
            new SubjectAlternativeNameExtension(
              [node, ...addresses].map((value) => ({
                type: isIP(value) === 0 ? ('dns' as const) : ('ip' as const),
                value,
              })),
            ),
          ],
  });
  return {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name: requestName(request) },
    spec: {
      signerName: signers[purpose],
      request: Buffer.from(pkcs10.toString('pem')).toString('base64'),
      usages: ['digital signature', purpose === 'client' ? 'client auth' : 'server auth'],
    },
  };
}

/** Boot IDs of hosts, as made up by their kernels; a host without one gets its first. */
export function bootIds() {
  const ids = new Map<string, string>();
  return {
    /** The ID of a host's current boot. */
    of: (host: string): string => {
      const id = ids.get(host) ?? randomUUID();
      ids.set(host, id);
      return id;
    },
    /** The host has booted again. */
    renew: (host: string, id: string): void => void ids.set(host, id),
  };
}

/** Programs of pods by node; a program ends when its node is drained or reboots. */
export function tenants() {
  const all = new Map<string, Set<() => void>>();
  const on = (node: string): Set<() => void> => {
    const found = all.get(node) ?? new Set();
    all.set(node, found);
    return found;
  };
  return {
    /** Adds a program to a node; the result removes it. */
    moveIn: (node: string, leave: () => void): (() => void) => {
      on(node).add(leave);
      return () => void on(node).delete(leave);
    },
    /** Ends every program on a node. */
    evict: (node: string): void => {
      for (const leave of [...on(node)]) leave();
    },
  };
}

/** Name of the machine-config-server's log on the bootstrap host, as the kubelet links it. */
export const configServerLog =
  'machine-config-server-b1_openshift-machine-config-operator_machine-config-server-0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0.log';

/** A request for Ignition to the machine-config-server. */
interface ConfigRequest {
  readonly pool: string;
  readonly address: string;
  readonly at: Date;
  /** Index of the log format, which changed between releases. */
  readonly form: number;
}

const PORT = 47_018;

/**
 * The log line of a request, with CRI-O's prefix. The formats: `1.2.3.4:PORT` and
 * `[fe80::1%ens3]:PORT` without quotes, `address:"[2620::1]:PORT"` since the log is structured.
 */
export function configRequestLine({ pool, address, at, form }: ConfigRequest): string {
  const asked = isIPv6(address)
    ? `[${address}${address.startsWith('fe80:') ? '%ens3' : ''}]:${PORT}`
    : `${address}:${PORT}`;
  const agent =
    'User-Agent:"Ignition/2.19.0" Accept-Header: "application/vnd.coreos.ignition+json"';
  const isStructured = form % 2 === 1;
  const said = isStructured
    ? `Pool ${pool} requested by address:"${asked}" ${agent}`
    : `Pool ${pool} requested by ${asked} ${agent}`;
  return `${at.toISOString()} stderr F I1121 12:00:00.000000       1 api.go:121] ${said}\n`;
}
