// All settings. Flags, variables and the schema are made from this table. It is plain data, so that
// a flag or a variable can be checked before a parser is loaded.
import { HOST_ROOT } from '../adapters/host-root.ts';
import { roleNames } from '../model/role.ts';

/** A setting: the form of its value, its default and its description. */
export type Setting =
  | {
      readonly kind: 'text' | 'url' | 'place' | 'sha256' | 'listen';
      readonly byDefault: string;
      readonly summary: string;
    }
  | { readonly kind: 'count'; readonly byDefault: number | undefined; readonly summary: string }
  | { readonly kind: 'port'; readonly byDefault: number; readonly summary: string }
  | { readonly kind: 'flag'; readonly byDefault: boolean; readonly summary: string }
  | { readonly kind: 'list' | 'argv' | 'secret' | 'hints' | 'mirrors'; readonly summary: string }
  | WordSetting<string>;

/** A setting that takes one of a few words. */
export interface WordSetting<Word extends string> {
  readonly kind: 'word';
  readonly words: readonly Word[];
  readonly byDefault: Word;
  readonly summary: string;
}

const withText =
  <const Kind extends string>(kind: Kind) =>
  (summary: string, byDefault = '') =>
    ({ kind, byDefault, summary }) as const;
const withNumber =
  <const Kind extends string>(kind: Kind) =>
  (summary: string, byDefault: number) =>
    ({ kind, byDefault, summary }) as const;
const without =
  <const Kind extends string>(kind: Kind) =>
  (summary: string) =>
    ({ kind, summary }) as const;
const text = withText('text');
const url = withText('url');
/** A file, or an http(s) URL. */
const place = withText('place');
/** A listen address of a server of the program. */
const listen = withText('listen');
const sha256 = withText('sha256');
const flag = (summary: string, byDefault = false) =>
  ({ kind: 'flag', byDefault, summary }) as const;
const port = withNumber('port');
const count = withNumber('count');
const list = without('list');
const argv = without('argv');
const hints = without('hints');
const mirrors = without('mirrors');
const secret = without('secret');
const word = <const Word extends string>(
  words: readonly Word[],
  byDefault: NoInfer<Word>,
  summary: string,
): WordSetting<Word> => ({ kind: 'word', words, byDefault, summary });

/** The settings by section, in the order in which they are shown. */
export const settingTable = {
  role: word(
    roleNames,
    'master',
    'role of this host; the default is for lines with the flags of assisted-installer alone',
  ),
  cluster: {
    id: text('id of the cluster at the inventory service'),
    infraEnvId: text('id of the infra-env of this host; unset: the cluster id'),
    hostId: text('id of this host; without it nothing is reported'),
    openshiftVersion: text('OpenShift version of the cluster; unset: the version in bootstrap.ign'),
    controlPlaneCount: count(
      'number of control-plane nodes; 1 selects the single-node flow, 0 means unknown',
      0,
    ),
    kubeconfig: text(
      'kubeconfig on the host; if it is absent, the inventory service is asked for one',
      '/opt/openshift/auth/kubeconfig',
    ),
  },
  bootstrap: {
    lanes: word(
      ['beside', 'in-turn'],
      'beside',
      'write the disk while the control plane starts, or in turn on a small host',
    ),
    etcdOverride: word(
      ['auto', 'always', 'never'],
      'auto',
      'allow etcd to start with fewer than three members; auto: for OpenShift 4.6 and older',
    ),
  },
  layering: {
    mode: word(
      ['auto', 'on', 'off'],
      'auto',
      'build the operating system of the nodes during the installation; auto: if the manifests hold a MachineOSConfig',
    ),
    failurePolicy: word(
      ['fail', 'fallback-stock'],
      'fail',
      'if an image cannot be built: fail the installation, or continue with the operating system of the release',
    ),
    registryImage: text(
      'image of the registry on the bootstrap host; unset: docker-registry of the release',
    ),
    registryPort: port('port of the registry on the bootstrap host', 22_626),
    buildMinutes: count('timeout of the build of one image, in minutes', 30),
    pushTo: text(
      'HOST/[NAMESPACE] for the images of pools without a MachineOSConfig; each of them gets one',
    ),
    repository: text(
      'HOST/[NAMESPACE/]NAME where a worker finds the image of its pool; unset: the image that its MachineConfig names, with image.skipMcoReboot',
    ),
  },
  service: {
    url: url('base URL of the inventory service, without /api'),
    api: word(['v2', 'v1', 'bm-inventory-v1'], 'v2', 'version of the service interface'),
    token: secret('token of the service; from PULL_SECRET_TOKEN or a file, never from a flag'),
    tokenFile: text('file with the token of the service; PULL_SECRET_TOKEN wins over it'),
    insecure: flag('do not verify the certificate of the service'),
    caFile: text(
      "PEM file with certificates to trust for every server in addition to the system's",
    ),
    stopIfCancelled: flag(
      'stop if the service has cancelled, failed or reset this host: before its disk is changed, and later before it reboots',
      true,
    ),
  },
  disk: {
    device: text('disk to install to, preferably /dev/disk/by-id/…'),
    hints: hints(
      'properties that identify the install disk, with the names of rootDeviceHints; exactly one disk must match all of them, and disk.device where it is set',
    ),
    keep: list(
      'partitions of the install disk that are kept: labels, with * and ?, or numbers (5, 5-7)',
    ),
    format: list('additional disks whose partition tables are removed'),
    cleanup: flag(
      'remove LVM, device-mapper and RAID leftovers from the disk before the write',
      true,
    ),
  },
  image: {
    source: word(
      ['auto', 'live', 'file', 'url', 'stream'],
      'auto',
      'source of the operating system; auto: the first that is configured',
    ),
    file: text('image file on the host'),
    url: url('http(s) URL of an image'),
    sha256: sha256('SHA-256 of the image as stored, compressed or not'),
    stream: place('CoreOS stream metadata, a file on the host or an http(s) URL'),
    nodeImage: text('pull spec of the node image, checked against the release before the write'),
    writerArgs: argv('further arguments for coreos-installer'),
    allowUnverified: flag(
      'without a service, install an image by plain http although image.sha256 is not set',
    ),
    allowMissingPartitions: flag(
      'write the disk although a partition that disk.keep or image.writerArgs keep is not on it',
    ),
    existingRoot: text('container image to deploy into the running root instead of a disk write'),
    skipMcoReboot: flag('write the final OS image before the first boot'),
  },
  network: {
    keyfiles: text(
      'folder on the host with NetworkManager keyfiles for the installed host; checked before a disk is changed',
    ),
    nmstate: text(
      'nmstate file on the host with the network of the installed host, instead of network.keyfiles; nmstatectl of the live image makes the keyfiles',
    ),
  },
  registries: {
    mirrors: mirrors(
      'mirrors of images that are pulled by digest, in the form of imageDigestSources of an install-config; for the live and the installed host',
    ),
    ca: text(
      'PEM file on the host with the certificate authorities of registries, which the live and the installed host trust; checked before a disk is changed',
    ),
  },
  ignition: {
    source: word(
      ['auto', 'service', 's3', 'url', 'file'],
      'auto',
      'source of the Ignition; auto: the first that is configured',
    ),
    url: url('http(s) URL of the Ignition of this host'),
    file: text('file on the host with the Ignition of this host'),
    caFile: text('PEM file with certificates to trust for ignition.url'),
    sha256: sha256('SHA-256 of the Ignition file as served'),
  },
  s3: {
    endpoint: url('endpoint of the object store'),
    bucket: text('bucket that holds CLUSTER_ID/bootstrap.ign, master.ign and worker.ign'),
    region: text('region to sign for', 'us-east-1'),
    accessKeyId: text('access key id; unset: anonymous access'),
    secretAccessKey: secret('secret access key; from AWS_SECRET_ACCESS_KEY or a file'),
    secretAccessKeyFile: text(
      'file with the secret access key; AWS_SECRET_ACCESS_KEY wins over it',
    ),
  },
  images: {
    controller: text(
      'image of the in-cluster controller',
      'quay.io/ocpmetal/assisted-installer-controller:latest',
    ),
    agent: text('image that holds logs_sender', 'quay.io/ocpmetal/assisted-installer-agent:latest'),
    mco: text('machine-config-operator image of the release'),
    mustGather: text('must-gather image, or a JSON object of them'),
    self: text('image of this program; detected in a container of podman'),
  },
  controller: {
    checkClusterVersion: flag('the controller waits for the cluster version operator'),
    notifyNumReboots: flag(
      "another controller reports how often each node started; Bootwright's does not",
    ),
    withoutService: flag(
      "the controller in the cluster calls no service; only for Bootwright's controller",
    ),
    serviceIps: list('addresses of the service for the host aliases of the controller'),
  },
  proxy: {
    http: url('proxy for http, of requests and of commands on the host'),
    https: url('proxy for https, of requests and of commands on the host'),
    no: text('addresses that need no proxy, comma separated'),
  },
  log: {
    verbose: flag('log at level debug'),
    format: word(['auto', 'json', 'pretty'], 'auto', 'form of the log on stdout'),
    file: text('log file on the host', '/var/log/assisted-installer.log'),
    events: text('file for the event stream, one JSON object per line; fd:3 for a descriptor'),
    status: listen('HOST:PORT to serve the status of the run on; without HOST on every address'),
  },
  host: {
    root: text(
      'root of the file system of the host; a container with --pid=host sees it at the default. Set it for a mounted system',
      HOST_ROOT,
    ),
  },
  hooks: {
    before: text(
      'executable on the host to run before the system is written; if it fails, so does the installation, with the disk unchanged',
    ),
    after: text(
      'executable on the host to run once the system is written, before the logs are sent and the host reboots; if it fails, so does the installation',
    ),
    minutes: count('timeout of a hook, in minutes, 1 to 1440', 30),
  },
  finish: {
    rebootDelayMinutes: {
      kind: 'count',
      byDefault: undefined,
      summary:
        'minutes between the last report and the reboot, 0 for none; unset: none, or one minute on a bootstrap host that did not see the removal of its etcd member',
    },
  },
} as const satisfies Readonly<Record<string, Setting | Readonly<Record<string, Setting>>>>;
