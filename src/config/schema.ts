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
  infraEnvId: text('id of the infra-env of this host; the cluster id unless given'),
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
    .describe(
      'kubeconfig on the host; where there is none, the inventory service is asked for one',
    ),
});

const Bootstrap = z.strictObject({
  lanes: z
    .enum(['beside', 'in-turn'])
    .default('beside')
    .describe('write the disk beside the control plane, or in turn with it on a small host'),
  etcdOverride: z
    .enum(['auto', 'always', 'never'])
    .default('auto')
    .describe('let etcd start with less than three members; auto: for OpenShift 4.6 and older'),
  followUp: z
    .enum(['auto', 'always', 'never'])
    .default('auto')
    .describe(
      'leave a job in the cluster that approves this host and puts etcd back; auto: when images.self is known',
    ),
});

const Layering = z.strictObject({
  mode: z
    .enum(['auto', 'on', 'off'])
    .default('auto')
    .describe(
      'build the operating system of the nodes during the installation; auto: where the manifests hold a MachineOSConfig',
    ),
  failurePolicy: z
    .enum(['fail', 'fallback-stock'])
    .default('fail')
    .describe(
      'what an image that cannot be built means: the installation fails, or goes on with the operating system of the release',
    ),
  registryImage: text(
    'image of the registry on the bootstrap host; docker-registry of the release unless given',
  ),
  registryPort: z
    .int()
    .min(1)
    .max(65_535)
    .default(22_626)
    .describe('port of the registry on the bootstrap host'),
  buildMinutes: z.int().min(0).default(30).describe('minutes that the build of one image may take'),
  pushTo: text(
    'HOST/[NAMESPACE] of the images of pools that no MachineOSConfig is for; each then gets one of its own',
  ),
  repository: text(
    'HOST/[NAMESPACE/]NAME where a worker finds the image of its pool; without it what its MachineConfig tells, with image.skipMcoReboot',
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
  caFile: text('PEM file with certificates to trust beside those of the system'),
});

const Disk = z.strictObject({
  device: text('disk to install to, best by /dev/disk/by-id/…'),
  format: list('further disks that lose their partition tables'),
  cleanup: flag(
    true,
    'remove LVM, device-mapper and RAID leftovers from the disk before the write',
  ),
});

const Image = z.strictObject({
  source: z
    .enum(['auto', 'live', 'file', 'url', 'stream'])
    .default('auto')
    .describe('where the operating system comes from; auto takes the first that is given'),
  file: text('image file, seen from the host'),
  url: url('http(s) URL of an image'),
  sha256: sha256('SHA-256 of the image as it is stored, compressed or not'),
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
    .describe('where Ignition comes from; auto takes the first that is configured'),
  url: url('http(s) URL of the Ignition of this host'),
  file: text('file on the host with the Ignition of this host'),
  caFile: text('PEM file with certificates to trust for ignition.url'),
  sha256: sha256('SHA-256 of the Ignition as it is served'),
});

const S3 = z.strictObject({
  endpoint: url('endpoint of the object store'),
  bucket: text('bucket that holds CLUSTER_ID/bootstrap.ign, master.ign and worker.ign'),
  region: z.string().default('us-east-1').describe('region to sign for'),
  accessKeyId: text('access key id; anonymous without it'),
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
  self: text('image of this program; found out by itself in a container of podman'),
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
    .describe('where /opt, /var/log, /dev, /tmp and /etc/pki of the host are seen'),
});

const Dry = z.strictObject({
  hostId: text('names the log file of a dry run'),
  rebootMarker: text('file that is touched instead of a reboot'),
  clusterHosts: text(
    'JSON file with the hosts of a dry cluster; checked, and used by the role bootstrap alone',
  ),
});

const Finish = z.strictObject({
  rebootDelayMinutes: z
    .int()
    .min(0)
    .optional()
    .describe(
      'minutes between the last report and the reboot, 0 for none; unless given the host reboots as soon as what a minute stood for is seen to be true',
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
