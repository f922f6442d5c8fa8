/**
 * The arguments of the real programs, as pure functions, with the purpose of each where it is not
 * plain.
 *
 * @see https://kubernetes.io/docs/reference/command-line-tools-reference/
 */

/** Paths of a control plane's key files, which `writeKeyFiles` writes. */
export interface KeyFiles {
  readonly ca: string;
  readonly caKey: string;
  /** Authorities of clients; a server reads the file again when it changes. */
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
    // The page cache outlives the process, so a killed etcd finds all its data; only a crash of the
    // machine loses some.
    '--unsafe-no-fsync',
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=lab=${peer}`,
  ];
}

/** An API server on loopback; several servers may share one etcd. */
export function apiServerFlags(plan: {
  readonly etcdPort: number;
  readonly port: number;
  readonly keys: KeyFiles;
  /** Logs each request's user, and whether it was allowed. */
  readonly audit?: { readonly policy: string; readonly log: string };
  /** Separates its objects from other servers' on this etcd, as another cluster's. */
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
    // A loopback address cannot be an endpoint of the service `kubernetes`, so none is published.
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
    // As in OpenShift, whose SecurityContextConstraints decide who may.
    '--allow-privileged=true',
    // In addition to the default plugins, as in OpenShift: only a user with the right to finalize
    // an owner may create an object that blocks its deletion.
    '--enable-admission-plugins=OwnerReferencesPermissionEnforcement',
    '--profiling=false',
    // Otherwise a stopped server keeps its watches open and silent for a minute.
    '--shutdown-watch-termination-grace-period=1s',
  ];
}

/** The controllers that tests depend on; all others are off. */
export const neededControllers: readonly string[] = [
  'certificatesigningrequest-signing-controller',
  'garbage-collector-controller',
  'namespace-controller',
  'serviceaccount-controller',
];

/** A controller manager that signs with the rig's authority. */
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
