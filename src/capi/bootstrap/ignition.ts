import { agentFolder, agentUnitName, liveConfig } from '../../ignition/live-agent.ts';
import { mergeConfigs } from '../../ignition/merge.ts';
import { parseValidConfig } from '../../ignition/parse.ts';
import { embeddedFile, PULL_SECRET_PATH } from '../../ignition/resource.ts';
import { renderDiskHints } from '../../settings/disk-hints.ts';
import type { Config } from '../../ignition/types.ts';
import type { BootstrapConfigSpec } from '../api.ts';

/** The role of a host during its installation. */
export type MachineRole = 'bootstrap' | 'master' | 'worker';

/** Inputs of a live system that runs the agent for one host. */
export interface MachineInput {
  readonly role: MachineRole;
  /** Settings for the installation of the host. */
  readonly spec: BootstrapConfigSpec;
  readonly clusterId: string;
  readonly infraEnvId: string;
  readonly hostId: string;
  readonly inventoryUrl: string;
  /** Token by which the inventory identifies the host. */
  readonly token: string;
  /** PEM by which the host trusts the inventory, in addition to the authorities of its system. */
  readonly inventoryCa?: string | undefined;
  /** Pull spec of the image to deploy into the running root instead of writing a disk. */
  readonly existingRoot?: string | undefined;
  /** Only for hosts of the control plane. */
  readonly openshiftVersion?: string | undefined;
  readonly controlPlaneCount?: number | undefined;
  readonly mcoImage?: string | undefined;
  /** Text of a .dockerconfigjson. */
  readonly pullSecret?: string | undefined;
  /** Keyfiles of NetworkManager by their file names. */
  readonly keyfiles?: ReadonlyMap<string, string> | undefined;
}

/** Path of the host's token in the live system. */
export const tokenPath = `${agentFolder}/token`;

const paths = {
  token: tokenPath,
  ca: `${agentFolder}/ca.crt`,
  script: `${agentFolder}/agent.sh`,
  /** The agent's default log, and the copy of its end. */
  agentLog: '/var/log/assisted-installer.log',
  sentLog: '/run/bootwright-agent.log',
} as const;

/**
 * The Ignition of the live system of one host, as JSON. It runs the agent with its role. A few
 * lines of shell report why an agent could not run, so that an image that cannot be pulled is known
 * within seconds. The Ignition is secret.
 * @throws AgentError `ignition.*` for an unusable override
 */
export function machineIgnition(input: MachineInput): string {
  const { spec, pullSecret, keyfiles = [] } = input;
  const { image } = spec.agent;
  const base = liveConfig({
    image,
    args: agentArgs(input),
    pull: ['/bin/bash', paths.script, 'pull', image],
    afterwards: ['/bin/bash', paths.script, 'report'],
    pullSecret,
    sshAuthorizedKeys: spec.sshAuthorizedKeys,
    trustBundle: spec.additionalTrustBundle,
    proxy: {
      HTTP_PROXY: spec.proxy?.httpProxy,
      HTTPS_PROXY: spec.proxy?.httpsProxy,
      NO_PROXY: spec.proxy?.noProxy,
    },
    files: [
      [paths.token, input.token, 0o600],
      [paths.script, agentScript(input), 0o700],
      [paths.ca, input.inventoryCa, 0o644],
      ['/etc/containers/registries.conf.d/99-bootwright.conf', spec.registries, 0o644],
      ...[...keyfiles].map(
        ([name, text]) => [`/etc/NetworkManager/system-connections/${name}`, text, 0o600] as const,
      ),
    ],
  });
  const override = spec.ignitionConfigOverride;
  return JSON.stringify(
    override === undefined ? base : mergeConfigs(base, parseValidConfig(override)),
  );
}

function agentArgs(input: MachineInput): readonly string[] {
  const { role, spec, keyfiles } = input;
  const isBootstrap = role === 'bootstrap';
  // The arguments of coreos-installer apply also if no disk is written.
  const writerArgs = [
    ...(spec.kernelArguments ?? []).flatMap((one) => ['--append-karg', one]),
    ...(keyfiles === undefined || keyfiles.size === 0 ? [] : ['--copy-network']),
  ];
  const flags: Readonly<Record<string, string | undefined>> = {
    url: input.inventoryUrl,
    'cluster-id': input.clusterId,
    'infra-env-id': input.infraEnvId,
    'host-id': input.hostId,
    'service.tokenFile': paths.token,
    cacert: input.inventoryCa === undefined ? undefined : paths.ca,
    'boot-device': spec.installDevice,
    'disk.hints': spec.rootDeviceHints && renderDiskHints(spec.rootDeviceHints),
    'coreos-image': input.existingRoot,
    'openshift-version': input.openshiftVersion,
    'control-plane-count': input.controlPlaneCount?.toString(),
    'mco-image': input.mcoImage,
    // The controller of the new cluster is also this program.
    'controller-image': isBootstrap ? spec.agent.image : undefined,
    'installer-args': writerArgs.length === 0 ? undefined : JSON.stringify(writerArgs),
  };
  return [
    ...['-r', role],
    // Nodes call no server outside of their cluster: the control-plane provider reads their
    // progress.
    ...(isBootstrap ? ['--controller.withoutService'] : []),
    // The unit sends the log, so the agent pulls no image of another maker for it.
    '--agent-image=',
    ...Object.entries(flags).flatMap(([name, value]) =>
      value === undefined ? [] : [`--${name}`, value],
    ),
    ...(spec.agent.args ?? []),
  ];
}

/** Number of bytes sent from the end of a failed agent's log. */
export const hostLogBytes = 64 * 1024;

/**
 * Pulls the image of the agent until it is there, and reports a host whose agent cannot run.
 * Podman's own failures have exit codes of 125 and above; below that, the agent itself reports its
 * end. After each failure, the script sends the end of the log. No argument of a command is secret.
 */
function agentScript({
  inventoryUrl,
  clusterId,
  infraEnvId,
  hostId,
  inventoryCa,
  pullSecret,
}: MachineInput) {
  const base = inventoryUrl.endsWith('/') ? inventoryUrl : `${inventoryUrl}/`;
  const urlOf = (path: string): string =>
    `'${new URL(`api/assisted-install/v2/${path}`, base).href.replaceAll("'", '%27')}'`;
  const progress = urlOf(`infra-envs/${infraEnvId}/hosts/${hostId}/progress`);
  const query = new URLSearchParams({
    logs_type: 'host',
    infra_env_id: infraEnvId,
    host_id: hostId,
  });
  const logs = urlOf(`clusters/${clusterId}/logs?${query.toString()}`);
  const cacert = inventoryCa === undefined ? '' : `cacert = "${paths.ca}"\\n`;
  const authfile = pullSecret === undefined ? '' : `--authfile ${PULL_SECRET_PATH} `;
  return `#!/bin/bash
# agent.sh pull IMAGE | report; called by ${agentUnitName}.
ask() {
  printf 'header = "X-Secret-Key: %s"\\n${cacert}' "$(cat ${paths.token})" |
    curl --silent --show-error --fail --max-time 20 --config - "$@"
}
report() {
  info=$(tr -c '[:print:]' ' ' | tr -d '"\\\\' | tail -c 900)
  ask --request PUT --header 'Content-Type: application/json' \\
    --data-binary "{\\"current_stage\\":\\"Failed\\",\\"progress_info\\":\\"the agent did not start: $info\\"}" \\
    ${progress}
}
if [ "$1" = pull ]; then
  pause=5
  until podman image exists "$2" || said=$(podman pull --quiet ${authfile}"$2" 2>&1); do
    printf '%s' "$said" | report
    sleep $pause
    pause=$((pause < 160 ? pause * 2 : 300))
  done
  exit 0
fi
[ "$SERVICE_RESULT" = success ] && exit 0
[ "$(systemctl is-system-running)" = stopping ] && exit 0
words=$(journalctl _SYSTEMD_INVOCATION_ID="$INVOCATION_ID" --lines 500 --output cat)
[ "\${EXIT_STATUS:-125}" -lt 125 ] 2>/dev/null || tail -n 5 <<<"$words" | report
umask 077
tail -c ${hostLogBytes} ${paths.agentLog} >${paths.sentLog} 2>/dev/null || printf '%s\\n' "$words" >${paths.sentLog}
ask --form 'upfile=@${paths.sentLog};filename=agent.log;type=text/plain' \\
  ${logs}
`;
}

/** Known facts of the node that a host becomes. */
interface NodeInput {
  readonly nodeRegistration?: BootstrapConfigSpec['nodeRegistration'] | undefined;
  /** `master.ign` or `worker.ign`: it points to the cluster's config server. */
  readonly pointer: string;
  /** PEM by which the config server is trusted now; default: the PEM of the pointer. */
  readonly configServerCa?: string | undefined;
  /** The provider ID of the Machine, for a node without its own. */
  readonly providerID?: string;
}

/**
 * The Ignition that a host writes to its disk: the pointer to the config server, and the labels,
 * taints and names that the kubelet registers.
 * @throws AgentError `ignition.*` if the pointer cannot be read
 */
export function nodeIgnition({ pointer, configServerCa, ...input }: NodeInput): string {
  const config = parseValidConfig(pointer);
  const { version, security } = config.ignition;
  const node = nodeConfig(input);
  if (node === undefined && configServerCa === undefined) return pointer;
  let result = config;
  if (configServerCa !== undefined) {
    // Replace the authority: a host would otherwise trust the old one too.
    const pem = Buffer.from(configServerCa).toString('base64');
    const certificateAuthorities = [{ source: `data:text/plain;charset=utf-8;base64,${pem}` }];
    const tls = { ...security?.tls, certificateAuthorities };
    result = { ...config, ignition: { ...config.ignition, security: { ...security, tls } } };
  }
  if (node !== undefined) result = mergeConfigs(result, { ignition: { version }, ...node });
  return JSON.stringify(result);
}

const script = '/etc/bootwright/register-node.sh';

function nodeConfig({
  nodeRegistration: { name = '', labels = {}, providerID } = {},
  ...machine
}: Omit<NodeInput, 'pointer'>): Omit<Config, 'ignition'> | undefined {
  const isResolved = name.includes('$');
  const registered = {
    name: isResolved ? name : '',
    id: providerID ?? machine.providerID ?? '',
    labels: Object.entries(labels)
      .map(([key, value]) => `${key}=${value}`)
      .join(','),
  };
  const files =
    name === '' || isResolved ? [] : [embeddedFile('/etc/hostname', `${name}\n`, 0o644)];
  if (Object.values(registered).every((value) => value === ''))
    return files.length === 0 ? undefined : { storage: { files } };
  return {
    storage: { files: [...files, embeddedFile(script, registerScript(registered), 0o700)] },
    systemd: {
      units: [{ name: 'bootwright-register-node.service', enabled: true, contents: unit }],
    },
  };
}

const unit = `[Unit]
Description=Give the kubelet what it registers
Before=kubelet.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/bash ${script}

[Install]
WantedBy=multi-user.target
RequiredBy=kubelet.service
`;

/** A word in single quotes, in which a shell expands nothing. */
const shellWord = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/**
 * Runs at each boot, as an update of the cluster changes the kubelet's command: appends flags to
 * that command. `$METADATA_UUID` and `$METADATA_NAME` come from the config drive (OpenStack
 * metadata, `meta_data.json`). The kubelet registers labels from several flags together
 * (kubernetes, `component-base/cli/flag`, MapStringString).
 */
const registerScript = ({
  name,
  id,
  labels,
}: Readonly<Record<'name' | 'id' | 'labels', string>>): string => `#!/bin/bash
set -eu
name=${shellWord(name)}
id=${shellWord(id)}
labels=${shellWord(labels)}
METADATA_UUID= METADATA_NAME=
if [[ $name$id$labels == *'$METADATA_'* ]]; then
  drive=$(mktemp --directory)
  mount --options ro /dev/disk/by-label/config-2 "$drive"
  trap 'umount "$drive"' EXIT
  METADATA_UUID=$(jq --raw-output '.uuid // ""' "$drive/openstack/latest/meta_data.json")
  METADATA_NAME=$(jq --raw-output '.name // .hostname // ""' "$drive/openstack/latest/meta_data.json")
fi
resolved() {
  local text=$1
  text=\${text//'$METADATA_UUID'/$METADATA_UUID}
  printf '%s' "\${text//'$METADATA_NAME'/$METADATA_NAME}"
}
[ -z "$name" ] || hostnamectl set-hostname "$(resolved "$name")"
flags=
[ -z "$id" ] || flags="$flags --provider-id=$(resolved "$id")"
[ -z "$labels" ] || flags="$flags --node-labels=$(resolved "$labels")"
[ -n "$flags" ] || exit 0
command=$(awk '/^ *ExecStart=/ { on = 1 } on { print; if ($0 !~ /\\\\$/) exit }' /etc/systemd/system/kubelet.service)
mkdir --parents /etc/systemd/system/kubelet.service.d
printf '[Service]\\nExecStart=\\n%s \\\\\\n %s\\n' "$command" "\${flags//%/%%}" \\
  > /etc/systemd/system/kubelet.service.d/90-bootwright-node.conf
systemctl daemon-reload
`;
