import * as z from 'zod';
import { Secret } from '../model/secret.ts';
import { roleNames } from '../model/role.ts';

// A configuration is parsed once, and to compile a parser for it takes longer than that.
z.config({ jitless: true });

const text = (description: string): z.ZodDefault<z.ZodString> =>
  z.string().default('').describe(description);
const flag = (byDefault: boolean, description: string): z.ZodDefault<z.ZodBoolean> =>
  z.boolean().default(byDefault).describe(description);
const secret = (description: string): z.ZodOptional<z.ZodCustom<Secret, Secret>> =>
  z.instanceof(Secret).optional().describe(description);
const list = (description: string): z.ZodDefault<z.ZodArray<z.ZodString>> =>
  z.array(z.string()).default([]).describe(description);
const url = (
  description: string,
): z.ZodDefault<z.ZodUnion<readonly [z.ZodLiteral<''>, z.ZodURL]>> =>
  z
    .union([z.literal(''), z.url({ protocol: /^https?$/ })])
    .default('')
    .describe(description);
const sha256 = (
  description: string,
): z.ZodDefault<z.ZodUnion<readonly [z.ZodLiteral<''>, z.ZodString]>> =>
  z
    .union([z.literal(''), z.string().regex(/^[0-9a-f]{64}$/, '64 lower-case hexadecimal digits')])
    .default('')
    .describe(description);

const Cluster = z.strictObject({
  id: text('id of the cluster at the inventory service'),
  infraEnvId: text('id of the infra-env of this host; unset: the cluster id'),
  hostId: text('id of this host; without it nothing is reported'),
  openshiftVersion: z.string().default('4.4').describe('OpenShift version of the cluster'),
  controlPlaneCount: z
    .int()
    .min(0)
    .default(0)
    .describe('number of control-plane nodes; 1 selects the single-node flow, 0 means unknown'),
  kubeconfig: z
    .string()
    .default('/opt/openshift/auth/kubeconfig')
    .describe('kubeconfig on the host; if it is absent, the inventory service is asked for one'),
});

const Bootstrap = z.strictObject({
  lanes: z
    .enum(['beside', 'in-turn'])
    .default('beside')
    .describe(
      'write the disk while the control plane starts, or one after the other on a small host',
    ),
  etcdOverride: z
    .enum(['auto', 'always', 'never'])
    .default('auto')
    .describe(
      'allow etcd to start with fewer than three members; auto: for OpenShift 4.6 and older',
    ),
  followUp: z
    .enum(['auto', 'always', 'never'])
    .default('auto')
    .describe(
      'create a job in the cluster that approves this host and restores etcd; auto: if images.self is known',
    ),
});

const Layering = z.strictObject({
  mode: z
    .enum(['auto', 'on', 'off'])
    .default('auto')
    .describe(
      'build the operating system of the nodes during the installation; auto: if the manifests hold a MachineOSConfig',
    ),
  failurePolicy: z
    .enum(['fail', 'fallback-stock'])
    .default('fail')
    .describe(
      'if an image cannot be built: fail the installation, or go on with the operating system of the release',
    ),
  registryImage: text(
    'image of the registry on the bootstrap host; unset: docker-registry of the release',
  ),
  registryPort: z
    .int()
    .min(1)
    .max(65_535)
    .default(22_626)
    .describe('port of the registry on the bootstrap host'),
  buildMinutes: z
    .int()
    .min(0)
    .default(30)
    .describe('timeout of the build of one image, in minutes'),
  pushTo: text(
    'HOST/[NAMESPACE] for the images of pools without a MachineOSConfig; each of them gets one',
  ),
  repository: text(
    'HOST/[NAMESPACE/]NAME where a worker finds the image of its pool; unset: the image that its MachineConfig names, with image.skipMcoReboot',
  ),
});

const Service = z.strictObject({
  url: url('base URL of the inventory service, without /api'),
  api: z
    .enum(['v2', 'v1', 'bm-inventory-v1'])
    .default('v2')
    .describe('version of the service interface'),
  token: secret('token of the service; from PULL_SECRET_TOKEN or a file, never from a flag'),
  tokenFile: text('file with the token of the service; PULL_SECRET_TOKEN wins over it'),
  insecure: flag(false, 'do not verify the certificate of the service'),
  caFile: text('PEM file with certificates to trust in addition to those of the system'),
});

const Disk = z.strictObject({
  device: text('disk to install to, preferably /dev/disk/by-id/…'),
  format: list('further disks to wipe of their partition tables'),
  cleanup: flag(
    true,
    'remove LVM, device-mapper and RAID leftovers from the disk before the write',
  ),
});

const Image = z.strictObject({
  source: z
    .enum(['auto', 'live', 'file', 'url', 'stream'])
    .default('auto')
    .describe('source of the operating system; auto: the first that is configured'),
  file: text('image file on the host'),
  url: url('http(s) URL of an image'),
  sha256: sha256('SHA-256 of the image as stored, compressed or not'),
  stream: text('CoreOS stream metadata, a file on the host or an http(s) URL'),
  nodeImage: text('pull spec of the node image, checked against the release before the write'),
  writerArgs: list('further arguments for coreos-installer'),
  existingRoot: text('container image to deploy into the running root instead of a disk write'),
  skipMcoReboot: flag(false, 'write the final OS image before the first boot'),
});

const Ignition = z.strictObject({
  source: z
    .enum(['auto', 'service', 's3', 'url', 'file'])
    .default('auto')
    .describe('source of the Ignition; auto: the first that is configured'),
  url: url('http(s) URL of the Ignition of this host'),
  file: text('file on the host with the Ignition of this host'),
  caFile: text('PEM file with certificates to trust for ignition.url'),
  sha256: sha256('SHA-256 of the Ignition as it is served'),
});

const S3 = z.strictObject({
  endpoint: url('endpoint of the object store'),
  bucket: text('bucket that holds CLUSTER_ID/bootstrap.ign, master.ign and worker.ign'),
  region: z.string().default('us-east-1').describe('region to sign for'),
  accessKeyId: text('access key id; unset: anonymous access'),
  secretAccessKey: secret('secret access key; from AWS_SECRET_ACCESS_KEY or a file'),
  secretAccessKeyFile: text('file with the secret access key; AWS_SECRET_ACCESS_KEY wins over it'),
});

const Images = z.strictObject({
  controller: z
    .string()
    .default('quay.io/ocpmetal/assisted-installer-controller:latest')
    .describe('image of the in-cluster controller'),
  agent: z
    .string()
    .default('quay.io/ocpmetal/assisted-installer-agent:latest')
    .describe('image that holds logs_sender'),
  mco: text('machine-config-operator image of the release'),
  mustGather: text('must-gather image, or a JSON object of them'),
  self: text('image of this program; detected in a container of podman'),
});

const Controller = z.strictObject({
  checkClusterVersion: flag(false, 'the controller waits for the cluster version operator'),
  notifyNumReboots: flag(false, 'the controller reports how often each node started'),
  serviceIps: list('addresses of the service for the host aliases of the controller'),
});

const Proxy = z.strictObject({
  http: url('proxy for http'),
  https: url('proxy for https'),
  no: text('addresses that need no proxy, comma separated'),
});

const Log = z.strictObject({
  verbose: flag(false, 'log at level debug'),
  format: z.enum(['auto', 'json', 'pretty']).default('auto').describe('form of the log on stdout'),
  file: z.string().default('/var/log/assisted-installer.log').describe('log file on the host'),
  events: text('file for the event stream, one JSON object per line; fd:3 for a descriptor'),
});

const HostAccess = z.strictObject({
  reach: z
    .enum(['nsenter', 'dry'])
    .default('nsenter')
    .describe('nsenter: the real host; dry: for load tests of the service, nothing is changed'),
  root: z
    .string()
    .default('/')
    .describe('directory with /opt, /var/log, /dev, /tmp and /etc/pki of the host'),
});

const Dry = z.strictObject({
  hostId: text('names the log file of a dry run'),
  rebootMarker: text('file to touch instead of a reboot'),
  clusterHosts: text('JSON file with the hosts of a dry cluster; only the role bootstrap uses it'),
});

const Finish = z.strictObject({
  rebootDelayMinutes: z
    .int()
    .min(0)
    .optional()
    .describe(
      'minutes between the last report and the reboot, 0 for none; unset: at once, or after a minute where a bootstrap host did not see etcd leave it',
    ),
});

/** The whole configuration of one run. Unknown keys are refused. */
export const Config = z.strictObject({
  role: z.enum(roleNames).default('master').describe('role of this host'),
  cluster: Cluster.prefault({}),
  bootstrap: Bootstrap.prefault({}),
  layering: Layering.prefault({}),
  service: Service.prefault({}),
  disk: Disk.prefault({}),
  image: Image.prefault({}),
  ignition: Ignition.prefault({}),
  s3: S3.prefault({}),
  images: Images.prefault({}),
  controller: Controller.prefault({}),
  proxy: Proxy.prefault({}),
  log: Log.prefault({}),
  host: HostAccess.prefault({}),
  dry: Dry.prefault({}),
  finish: Finish.prefault({}),
});

/** Every setting of one run, deep-frozen when loaded; nothing steers a run by changing it. */
export type Config = z.infer<typeof Config>;

/** A configuration as it is written: every key may be left out. */
export type ConfigInput = z.input<typeof Config>;
