/**
 * The arguments of the real programs, pure. What each is for stands beside it where that is not
 * plain.
 *
 * @see https://kubernetes.io/docs/reference/command-line-tools-reference/
 */

/** Where the key files of a control plane lie; `writeKeyFiles` puts them there. */
export interface KeyFiles {
  readonly ca: string;
  readonly caKey: string;
  /** The authorities whose clients are known; servers read it again when it changes. */
  readonly clientCas: string;
  readonly serving: string;
  readonly servingKey: string;
  readonly tokenKey: string;
  readonly tokenPublicKey: string;
}

/** The paths of the key files under a folder. */
export function keyFilesIn(folder: string): KeyFiles {
  return {
    ca: `${folder}/ca.crt`,
    caKey: `${folder}/ca.key`,
    clientCas: `${folder}/client-ca-bundle.crt`,
    serving: `${folder}/serving.crt`,
    servingKey: `${folder}/serving.key`,
    tokenKey: `${folder}/tokens.key`,
    tokenPublicKey: `${folder}/tokens.pub`,
  };
}

/** etcd with one member. */
export function etcdFlags(plan: {
  readonly data: string;
  readonly port: number;
  readonly peerPort: number;
}): string[] {
  const client = `http://127.0.0.1:${plan.port}`;
  const peer = `http://127.0.0.1:${plan.peerPort}`;
  return [
    '--name=lab',
    `--data-dir=${plan.data}`,
    '--log-level=warn',
    // The page cache outlives the process, so even a killed etcd finds all its data; only the
    // machine's end loses some.
    '--unsafe-no-fsync',
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=lab=${peer}`,
  ];
}

/** An API server on loopback; several may share one etcd. */
export function apiServerFlags(plan: {
  readonly etcdPort: number;
  readonly port: number;
  readonly keys: KeyFiles;
  /** Writes who asked what, and whether it was allowed. */
  readonly audit?: { readonly policy: string; readonly log: string };
  /** Keeps its objects apart from those of other servers on this etcd, as of another cluster. */
  readonly etcdPrefix?: string;
}): string[] {
  const { keys, audit, etcdPrefix = '/registry' } = plan;
  return [
    `--etcd-prefix=${etcdPrefix}`,
    ...(audit === undefined
      ? []
      : [`--audit-policy-file=${audit.policy}`, `--audit-log-path=${audit.log}`]),
    `--etcd-servers=http://127.0.0.1:${plan.etcdPort}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${plan.port}`,
    // A loopback address is no endpoint that the service `kubernetes` could have, so none is
    // published.
    '--advertise-address=127.0.0.1',
    '--endpoint-reconciler-type=none',
    `--tls-cert-file=${keys.serving}`,
    `--tls-private-key-file=${keys.servingKey}`,
    `--client-ca-file=${keys.clientCas}`,
    '--authorization-mode=Node,RBAC',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${keys.tokenPublicKey}`,
    `--service-account-signing-key-file=${keys.tokenKey}`,
    '--service-cluster-ip-range=10.0.0.0/24',
    // As that of OpenShift, whose constraints say who may.
    '--allow-privileged=true',
    // Beside those that are on by default, as that of OpenShift: what blocks the deletion of its
    // owner may only be made by who may finalize that.
    '--enable-admission-plugins=OwnerReferencesPermissionEnforcement',
    '--profiling=false',
    // Otherwise a stopped server keeps its watches open, and silent, for a minute.
    '--shutdown-watch-termination-grace-period=1s',
  ];
}

/** The controllers whose work tests look at; all others stay off. */
export const neededControllers: readonly string[] = [
  'certificatesigningrequest-signing-controller',
  'garbage-collector-controller',
  'namespace-controller',
  'serviceaccount-controller',
];

/** A controller manager that signs with the rig's own authority. */
export function controllerManagerFlags(plan: {
  readonly kubeconfig: string;
  readonly port: number;
  readonly keys: KeyFiles;
  readonly controllers: readonly string[];
}): string[] {
  const { keys } = plan;
  return [
    `--kubeconfig=${plan.kubeconfig}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${plan.port}`,
    `--tls-cert-file=${keys.serving}`,
    `--tls-private-key-file=${keys.servingKey}`,
    '--leader-elect=false',
    `--controllers=${plan.controllers.join(',')}`,
    `--cluster-signing-cert-file=${keys.ca}`,
    `--cluster-signing-key-file=${keys.caKey}`,
    '--cluster-signing-duration=24h',
    `--service-account-private-key-file=${keys.tokenKey}`,
    `--root-ca-file=${keys.ca}`,
  ];
}
