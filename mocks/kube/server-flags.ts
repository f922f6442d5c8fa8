type Values<Name extends string> = Readonly<Record<Name, string | number>>;

/** The arguments in a text, one a line; other lines are comments. */
const flagsIn = (text: string): readonly string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('--'));

/**
 * etcd with one member.
 * @see https://etcd.io/docs/v3.6/op-guide/configuration/
 */
export const etcdFlags = ({
  data,
  port,
  peerPort,
}: Values<'data' | 'port' | 'peerPort'>): readonly string[] =>
  flagsIn(`
  --name=lab
  --data-dir=${data}
  --log-level=warn
  # The page cache outlives the process, so a killed etcd finds all its data; only a crash of the
  # machine loses some.
  --unsafe-no-fsync
  --listen-client-urls=http://127.0.0.1:${port}
  --advertise-client-urls=http://127.0.0.1:${port}
  --listen-peer-urls=http://127.0.0.1:${peerPort}
  --initial-advertise-peer-urls=http://127.0.0.1:${peerPort}
  --initial-cluster=lab=http://127.0.0.1:${peerPort}
`);

/**
 * An API server on loopback; several servers may share one etcd.
 * @see https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/
 */
export const apiServerFlags = ({
  etcdPrefix,
  etcdPort,
  port,
  serving,
  servingKey,
  clientCas,
  tokenPublicKey,
  tokenKey,
}: Values<
  | 'etcdPrefix'
  | 'etcdPort'
  | 'port'
  | 'serving'
  | 'servingKey'
  | 'clientCas'
  | 'tokenPublicKey'
  | 'tokenKey'
>): readonly string[] =>
  flagsIn(`
  # Separates its objects from other servers' on this etcd, as another cluster's.
  --etcd-prefix=${etcdPrefix}
  --etcd-servers=http://127.0.0.1:${etcdPort}
  --bind-address=127.0.0.1
  --secure-port=${port}
  # A loopback address cannot be an endpoint of the service kubernetes, so none is published.
  --advertise-address=127.0.0.1
  --endpoint-reconciler-type=none
  --tls-cert-file=${serving}
  --tls-private-key-file=${servingKey}
  --client-ca-file=${clientCas}
  --authorization-mode=Node,RBAC
  --service-account-issuer=https://kubernetes.default.svc
  --service-account-key-file=${tokenPublicKey}
  --service-account-signing-key-file=${tokenKey}
  --service-cluster-ip-range=10.0.0.0/24
  # As in OpenShift, whose SecurityContextConstraints decide who may.
  --allow-privileged=true
  # In addition to the default plugins, as in OpenShift: only a user with the right to finalize an
  # owner may create an object that blocks its deletion.
  --enable-admission-plugins=OwnerReferencesPermissionEnforcement
  --profiling=false
  # Otherwise a stopped server keeps its watches open and silent for a minute.
  --shutdown-watch-termination-grace-period=1s
`);

/**
 * A controller manager that signs with the authority of the control plane.
 * @see https://kubernetes.io/docs/reference/command-line-tools-reference/kube-controller-manager/
 */
export const controllerManagerFlags = ({
  kubeconfig,
  port,
  serving,
  servingKey,
  controllers,
  ca,
  caKey,
  tokenKey,
}: Values<
  'kubeconfig' | 'port' | 'serving' | 'servingKey' | 'controllers' | 'ca' | 'caKey' | 'tokenKey'
>): readonly string[] =>
  flagsIn(`
  --kubeconfig=${kubeconfig}
  --bind-address=127.0.0.1
  --secure-port=${port}
  --tls-cert-file=${serving}
  --tls-private-key-file=${servingKey}
  --leader-elect=false
  --controllers=${controllers}
  --cluster-signing-cert-file=${ca}
  --cluster-signing-key-file=${caKey}
  --cluster-signing-duration=24h
  --service-account-private-key-file=${tokenKey}
  --root-ca-file=${ca}
`);
