import type { AgentError } from '../model/failure.ts';
import { noDryRun } from './failures.ts';
import type { SettingKey } from './settings.ts';

/** Effect of a flag's value. */
export type FlagMeaning =
  /** Sets a setting. */
  | { readonly sets: SettingKey }
  /** Adds to a setting that is a list. */
  | { readonly addsTo: SettingKey }
  /** A boolean that inverts a setting. */
  | { readonly negates: SettingKey }
  /** A boolean for which only false is accepted. */
  | { readonly refused: (origin: string, hint: string) => AgentError }
  /** Evaluated together with other flags. */
  | { readonly reads: 'availability' | 'host' | 'port' | 's3-endpoint' | 's3-bucket' }
  /** No longer has an effect; the note says why. */
  | { readonly ignored: string };

/** One flag of the replaced installers. */
export interface FlagRow {
  readonly isBoolean: boolean;
  /** Placeholder of the value in a help text. */
  readonly placeholder?: string;
  readonly summary: string;
  /** The words that the flag takes, if its setting does not list them. */
  readonly choices?: readonly string[];
  readonly meaning: FlagMeaning;
  /** The period in which the service sent the flag, if today's service does not. */
  readonly era?: string;
}

const value = (sets: SettingKey, placeholder: string, summary: string): FlagRow => ({
  isBoolean: false,
  placeholder,
  summary,
  meaning: { sets },
});

const boolean = (sets: SettingKey, summary: string): FlagRow => ({
  isBoolean: true,
  summary,
  meaning: { sets },
});

const ofDryRun = (placeholder: string): FlagRow => ({
  isBoolean: false,
  placeholder,
  summary: 'without effect',
  meaning: { ignored: 'there is no dry run' },
});

const old = (
  era: string,
  meaning: FlagMeaning,
  shown: Pick<FlagRow, 'placeholder' | 'summary' | 'choices'>,
): FlagRow => ({ isBoolean: false, ...shown, meaning, era });

/**
 * The flags of assisted-installer, in the order of its help, and the flags of its earlier versions
 * (assisted-installer, history of src/config from 2020-04 to 2026-08).
 */
export const flagRows: Readonly<Record<string, FlagRow>> = {
  role: value('role', 'ROLE', 'role of this host; -r is the same'),
  r: value('role', 'ROLE', 'the same as --role'),
  'cluster-id': value('cluster.id', 'UUID', 'id of the cluster'),
  'infra-env-id': value('cluster.infraEnvId', 'UUID', 'id of the infra-env of this host'),
  'host-id': value('cluster.hostId', 'UUID', 'id of this host'),
  'boot-device': value('disk.device', 'DEVICE', 'disk to install to'),
  url: value('service.url', 'URL', 'inventory service'),
  'openshift-version': value('cluster.openshiftVersion', 'VERSION', 'version of the cluster'),
  'mco-image': value('images.mco', 'IMAGE', 'machine-config-operator of the release'),
  'controller-image': value('images.controller', 'IMAGE', 'in-cluster controller'),
  'agent-image': value('images.agent', 'IMAGE', 'image that has logs_sender'),
  'must-gather-image': value('images.mustGather', 'IMAGE', 'must-gather, or a JSON object'),
  'control-plane-count': value('cluster.controlPlaneCount', 'COUNT', 'control-plane nodes'),
  verbose: boolean('log.verbose', 'log at level debug'),
  insecure: boolean('service.insecure', 'do not verify the certificate of the service'),
  cacert: value('service.caFile', 'FILE', 'PEM certificates to trust'),
  'http-proxy': value('proxy.http', 'URL', 'proxy for http'),
  'https-proxy': value('proxy.https', 'URL', 'proxy for https'),
  'no-proxy': value('proxy.no', 'LIST', 'addresses that need no proxy'),
  'service-ips': value('controller.serviceIps', 'LIST', 'addresses of the service'),
  'check-cluster-version': boolean(
    'controller.checkClusterVersion',
    'the controller waits for the cluster version',
  ),
  'format-disk': {
    isBoolean: false,
    placeholder: 'DEVICE',
    summary: 'additional disk whose partition table is removed; repeatable',
    meaning: { addsTo: 'disk.format' },
  },
  'skip-installation-disk-cleanup': {
    isBoolean: true,
    summary: 'keep LVM, RAID and device-mapper volumes',
    meaning: { negates: 'disk.cleanup' },
  },
  'enable-skip-mco-reboot': boolean('image.skipMcoReboot', 'write the final OS before first boot'),
  'notify-num-reboots': boolean(
    'controller.notifyNumReboots',
    "another controller counts reboots; Bootwright's does not",
  ),
  'coreos-image': value('image.existingRoot', 'IMAGE', 'install into the running root'),
  'installer-args': value('image.writerArgs', 'JSON', 'arguments for coreos-installer'),
  'dry-run': {
    isBoolean: true,
    summary: 'refused: there is no dry run',
    meaning: { refused: noDryRun },
  },
  'force-id': ofDryRun('ID'),
  'fake-reboot-marker-path': ofDryRun('FILE'),
  'dry-run-cluster-hosts-path': ofDryRun('FILE'),
  'high-availability-mode': old(
    '2020-12 to 2025-03',
    { reads: 'availability' },
    {
      placeholder: 'MODE',
      summary: 'Full, or None for a single node',
      choices: ['Full', 'None'],
    },
  ),
  'installation-timeout': old(
    '2020-08 to 2021-08',
    { ignored: 'each wait has its own timeout' },
    { placeholder: 'MINUTES', summary: 'without effect' },
  ),
  'host-name': old(
    '2020-07 to 2020-11',
    { ignored: 'the host takes its name from the network or its Ignition' },
    { placeholder: 'NAME', summary: 'without effect' },
  ),
  host: old(
    '2020-04 to 2020-08',
    { reads: 'host' },
    { placeholder: 'HOST', summary: 'host of a version 1 service' },
  ),
  port: old(
    '2020-04 to 2020-08',
    { reads: 'port' },
    { placeholder: 'PORT', summary: 'port of a version 1 service' },
  ),
  's3-endpoint': old(
    '2020-04',
    { reads: 's3-endpoint' },
    { placeholder: 'URL', summary: 'object store that holds the Ignition' },
  ),
  's3-bucket': old(
    '2020-04',
    { reads: 's3-bucket' },
    { placeholder: 'NAME', summary: 'bucket in it; "test" unless given' },
  ),
  // A flag of Bootwright, for scripts that start the agent.
  events: value('log.events', 'FILE', 'write events as JSON lines; or fd:N'),
  status: value('log.status', 'ADDR', 'serve the status of the run, /status, on HOST:PORT'),
};

/** Flags that control the command itself and set no setting. */
export const ownFlagRows: Readonly<
  Record<string, Pick<FlagRow, 'isBoolean' | 'placeholder' | 'summary' | 'choices'>>
> = {
  config: {
    isBoolean: false,
    placeholder: 'FILE',
    summary: 'read settings from a YAML file; repeatable',
  },
  fresh: { isBoolean: true, summary: 'start at the first step; set an earlier journal aside' },
  help: { isBoolean: true, summary: 'print this text; -h is the same' },
  h: { isBoolean: true, summary: 'the same as --help' },
  version: { isBoolean: true, summary: 'print the version; -v and -V are the same' },
  v: { isBoolean: true, summary: 'the same as --version' },
  V: { isBoolean: true, summary: 'the same as --version' },
};
